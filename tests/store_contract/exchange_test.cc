// Settlements, submissions and claims in one call.

#include "tests/store_contract/contract.h"

namespace horae::testing {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

BundleOutcome Exchanging::exchange(const std::vector<Settlement>& settlements,
                                   const std::vector<Submission>& submissions, const std::vector<ClaimWish>& wishes) {
  return value_of(tasks().exchange({.settlements = settlements, .submissions = submissions, .wishes = wishes}));
}

namespace {

// Of each wish.
std::vector<std::vector<LeasedTask>> tasks_of(const std::vector<ClaimOutcome>& claimed) {
  std::vector<std::vector<LeasedTask>> all;
  for (const ClaimOutcome& outcome : claimed) all.push_back(outcome.tasks);
  return all;
}

TEST_P(Exchanging, SettlesSubmitsAndClaims) {
  const Lease first = start();
  const Submission next = submission();
  const auto outcome = exchange({settlement(Event::kComplete, first)}, {next}, {wish()});

  EXPECT_EQ(outcome.settled.at(0).verdict, Verdict::kAccepted);
  EXPECT_EQ(outcome.submitted.at(0).kind, SubmitOutcome::Kind::kCreated);
  ASSERT_THAT(tasks_of(outcome.leased), ElementsAre(SizeIs(1)));
  EXPECT_EQ(outcome.leased[0].tasks[0].id, next.id());
  EXPECT_EQ(outcome.leased[0].tasks[0].number, outcome.submitted[0].number);
  EXPECT_EQ(outcome.leased[0].tasks[0].spec, next.task.spec);
  EXPECT_EQ(state_of(first.id), State::kCompleted);
  EXPECT_EQ(state_of(next.id()), State::kRunning);
}

TEST_P(Exchanging, ManyLivesOneAfterTheOther) {
  std::vector<Settlement> done;
  std::vector<TaskId> lived;
  for (int round = 0; round < 20; ++round) {
    std::vector<Submission> fresh;
    for (int i = 0; i < 10; ++i) fresh.push_back(submission({.priority = 50 + i % 3}));
    const auto outcome = exchange(done, fresh, {wish(10)});
    for (const SettleOutcome& each : outcome.settled) EXPECT_EQ(each.verdict, Verdict::kAccepted);
    done.clear();
    for (const LeasedTask& each : outcome.leased.at(0).tasks) {
      lived.push_back(each.id);
      done.push_back(settlement(Event::kComplete, {each, kOwner}));
    }
    EXPECT_THAT(done, SizeIs(10));
  }
  (void)exchange(done, {}, {});
  std::ranges::sort(lived);
  EXPECT_EQ(std::ranges::adjacent_find(lived), lived.end());
  EXPECT_THAT(ids_in({.kind = ListKind::kFinished, .limit = kMaxPage}), SizeIs(200));
}

TEST_P(Exchanging, AClaimSeesWhatWasSubmittedWithItInItsOrder) {
  (void)submit_many(3);
  (void)claim();  // so that a store that remembers where ready tasks begin does
  const Submission urgent = submission({.priority = 200});
  const auto outcome = exchange({}, {submission({.priority = 10}), urgent}, {wish()});
  EXPECT_THAT(ids_of(outcome.leased.at(0).tasks), ElementsAre(urgent.id()));
}

// The order is that of all of them, whether they waited already or came with the claim.
TEST_P(Exchanging, AClaimTakesNewTasksAndReadyOnesByTheirRank) {
  (void)start();
  const Submission old_high = submission({.priority = 60});
  const Submission old_low = submission({.priority = 20});
  (void)submit_all({old_high, old_low});
  const Submission higher = submission({.priority = 61});
  const Submission between = submission({.priority = 40});
  const Submission lowest = submission({.priority = 10});
  const auto outcome = exchange({}, {lowest, between, higher}, {wish(3)});
  EXPECT_THAT(ids_of(outcome.leased.at(0).tasks), ElementsAre(higher.id(), old_high.id(), between.id()));
  EXPECT_EQ(state_of(old_low.id()), State::kReady);
  EXPECT_EQ(state_of(lowest.id()), State::kReady);
  EXPECT_THAT(ids_of(exchange({}, {}, {wish(5)}).leased.at(0).tasks), ElementsAre(old_low.id(), lowest.id()));
}

TEST_P(Exchanging, OfMoreNewTasksThanAreWishedTheRestStaysReady) {
  (void)start();
  std::vector<Submission> fresh;
  for (int i = 0; i < 100; ++i) fresh.push_back(submission());
  const auto first = exchange({}, fresh, {wish(30)});
  ASSERT_THAT(first.leased.at(0).tasks, SizeIs(30));
  const auto second = exchange({}, {}, {wish(100, "worker-2")});
  ASSERT_THAT(second.leased.at(0).tasks, SizeIs(70));
  std::vector<TaskId> got = ids_of(first.leased[0].tasks);
  std::ranges::copy(ids_of(second.leased[0].tasks), std::back_inserter(got));
  std::vector<TaskId> sent;
  for (const Submission& each : fresh) sent.push_back(each.id());
  EXPECT_EQ(got, sent) << "in the order of their coming";
}

// More of them than a claim reads, when most ranges held one task.
TEST_P(Exchanging, AClaimThatNeedsManyReadyRangesGetsThemBeforeNewTasks) {
  (void)start();
  std::vector<TaskId> old;
  for (int i = 0; i < 40; ++i) old.push_back(submit({.priority = 60}));
  const Submission fresh = submission({.priority = 50});
  const auto outcome = exchange({}, {fresh}, {wish(40)});
  EXPECT_EQ(ids_of(outcome.leased.at(0).tasks), old);
  EXPECT_EQ(state_of(fresh.id()), State::kReady);
}

TEST_P(Exchanging, NewTasksKeepTheirLimitsAndRecurrence) {
  (void)start();
  const Submission limited = submission({.priority = 90, .max_attempts = 1});
  const Submission recurring = submission({.priority = 80, .recurring = 5s});
  const auto outcome = exchange({}, {limited, recurring}, {wish(2)});
  ASSERT_THAT(ids_of(outcome.leased.at(0).tasks), ElementsAre(limited.id(), recurring.id()));
  const auto ended = exchange({settlement(Event::kComplete, {outcome.leased[0].tasks[1], kOwner})}, {}, {});
  EXPECT_EQ(ended.settled.at(0).state, State::kScheduled);
  EXPECT_EQ(find(limited.id())->max_attempts, 1);
}

TEST_P(Exchanging, AStoppedSchedulerTakesTasksAndGivesNone) {
  (void)start();
  (void)value_of(queues().set_scheduler_running(false));
  const Submission next = submission();
  const auto outcome = exchange({}, {next}, {wish()});
  EXPECT_THAT(tasks_of(outcome.leased), ElementsAre(IsEmpty()));
  EXPECT_EQ(state_of(next.id()), State::kReady);
  (void)value_of(queues().set_scheduler_running(true));
  EXPECT_THAT(ids_of(exchange({}, {}, {wish()}).leased.at(0).tasks), ElementsAre(next.id()));
}

TEST_P(Exchanging, SeveralClaimsSeeWhatWasSubmittedWithThem) {
  (void)submit_many(3);
  (void)claim();
  const Submission urgent = submission({.priority = 200});
  const Submission elsewhere = submission({.queue = "other", .priority = 1});
  const auto outcome =
      exchange({}, {urgent, elsewhere}, {wish(1, "worker-2"), wish(1, "worker-3", {"other"}), wish(5, "worker-4")});
  EXPECT_THAT(ids_of(outcome.leased.at(0).tasks), ElementsAre(urgent.id()));
  EXPECT_THAT(ids_of(outcome.leased.at(1).tasks), ElementsAre(elsewhere.id()));
  EXPECT_THAT(outcome.leased.at(2).tasks, SizeIs(2));
}

TEST_P(Exchanging, AClaimGetsWhatIsYieldedWithIt) {
  const Lease lease = start();
  const auto outcome = exchange({settlement(Event::kYield, lease)}, {}, {wish(1, "worker-2")});
  ASSERT_THAT(ids_of(outcome.leased.at(0).tasks), ElementsAre(lease.id));
  EXPECT_EQ(outcome.leased[0].tasks[0].attempt, 2);
}

TEST_P(Exchanging, ARefusedCompletionDoesNotAffectTheRest) {
  (void)submit_many(2);
  auto leases = claim_up_to(2);
  (void)cancel(leases[0].id);
  const Submission next = submission();
  const auto outcome =
      exchange({settlement(Event::kComplete, leases[0]), settlement(Event::kComplete, leases[1])}, {next}, {wish()});
  EXPECT_EQ(outcome.settled.at(0).verdict, Verdict::kCancelled);
  EXPECT_EQ(outcome.settled.at(1).verdict, Verdict::kAccepted);
  EXPECT_THAT(ids_of(outcome.leased.at(0).tasks), ElementsAre(next.id()));
  EXPECT_EQ(state_of(leases[0].id), State::kCancelled);
  EXPECT_EQ(state_of(leases[1].id), State::kCompleted);
}

TEST_P(Exchanging, ARepeatedSubmissionIsPresentAndTheRestHappensOnce) {
  const Lease first = start();
  const Submission known = submission({.priority = 60});
  (void)submit_all({known});
  const Submission fresh = submission();
  const auto outcome = exchange({settlement(Event::kComplete, first)}, {known, fresh}, {wish(5)});
  EXPECT_EQ(outcome.settled.at(0).verdict, Verdict::kAccepted);
  EXPECT_EQ(outcome.submitted.at(0).kind, SubmitOutcome::Kind::kPresent);
  EXPECT_EQ(outcome.submitted.at(1).kind, SubmitOutcome::Kind::kCreated);
  EXPECT_THAT(ids_of(outcome.leased.at(0).tasks), ElementsAre(known.id(), fresh.id()));
}

TEST_P(Exchanging, ARepeatedExchangeChangesNothing) {
  const Lease first = start();
  const Submission next = submission();
  const ClaimWish mine = wish();
  const std::vector done = {settlement(Event::kComplete, first)};
  (void)exchange(done, {next}, {mine});
  const auto again = exchange(done, {next}, {wish()});
  EXPECT_EQ(again.settled.at(0).verdict, Verdict::kRepeated);
  EXPECT_EQ(again.submitted.at(0).kind, SubmitOutcome::Kind::kPresent);
  EXPECT_THAT(again.leased.at(0).tasks, IsEmpty());
  EXPECT_THAT(ids_of(value_of(tasks().leases_of(mine.token))), ElementsAre(next.id()));
}

TEST_P(Exchanging, APausedQueueTakesTasksAndGivesNone) {
  const Lease first = start();
  configure(kQueue, {.paused = true});
  const auto outcome = exchange({settlement(Event::kComplete, first)}, {submission()}, {wish()});
  EXPECT_EQ(outcome.settled.at(0).verdict, Verdict::kAccepted);
  EXPECT_EQ(outcome.submitted.at(0).state, State::kReady);
  EXPECT_THAT(tasks_of(outcome.leased), ElementsAre(IsEmpty()));
}

TEST_P(Exchanging, WhatIsDueLaterIsNotClaimed) {
  (void)start();
  const auto outcome = exchange({}, {submission({.run_at = now() + 5s})}, {wish()});
  EXPECT_EQ(outcome.submitted.at(0).state, State::kScheduled);
  EXPECT_THAT(tasks_of(outcome.leased), ElementsAre(IsEmpty()));
}

TEST_P(Exchanging, OneBadItemRefusesAll) {
  const Lease first = start();
  const Submission good = submission();
  Submission bad = submission();
  bad.task.priority = 256;
  const std::vector done = {settlement(Event::kComplete, first)};
  const std::vector two = {good, bad};
  const std::vector wishes = {wish()};
  EXPECT_EQ(code_of(tasks().exchange({.settlements = done, .submissions = two, .wishes = wishes})),
            ErrorCode::kRefused);
  EXPECT_EQ(state_of(first.id), State::kRunning);
  EXPECT_FALSE(find(good.id()));
}

TEST_P(Exchanging, NothingAtAllIsFine) {
  const auto outcome = exchange({}, {}, {});
  EXPECT_THAT(outcome.settled, IsEmpty());
  EXPECT_THAT(outcome.submitted, IsEmpty());
  EXPECT_THAT(outcome.leased, IsEmpty());
}

}  // namespace
}  // namespace horae::testing
