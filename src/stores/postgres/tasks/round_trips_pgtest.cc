// The common life of a batch takes three round trips; anything else is noticed and takes the general path.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stores/postgres/tasks/round_trips.h"
#include "tests/support/server_process.h"

namespace horae::postgres {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using std::literals::operator""h;

TEST_F(RoundTrips, OneForSubmitOneForClaimAndOneForSettle) {
  EXPECT_EQ(trips_of([&] { submit(kMany); }), 1U);
  std::vector<LeasedTask> leases;
  EXPECT_EQ(trips_of([&] { leases = claim(kMany); }), 1U);
  EXPECT_THAT(leases, SizeIs(kMany));
  EXPECT_EQ(leases.front().priority, 3);
  EXPECT_EQ(leases.front().spec, "3");
  EXPECT_EQ(leases.back().priority, 0);
  std::vector<SettleOutcome> outcomes;
  EXPECT_EQ(trips_of([&] { outcomes = settle(completions(leases)); }), 1U);
  expect_accepted(outcomes, kMany);
  EXPECT_EQ(left(), "0");
  EXPECT_EQ(ask("select sum(n) from tally where state = 3"), std::to_string(kMany + 3));
}

TEST_F(RoundTrips, AnyNumberOfLeasesIsCompletedInOne) {
  for (const int ranges : {1, 2, 3}) {  // of different priorities
    const auto leases = submit_and_claim(ranges);
    EXPECT_EQ(left(), std::to_string(ranges));
    EXPECT_EQ(trips_of([&] { expect_accepted(settle(completions(leases)), leases.size()); }), 1U);
  }
  EXPECT_EQ(left(), "0");
}

TEST_F(RoundTrips, ATaskThatRanAtOnceIsCompletedInOne) {
  const Submission started{.task = {.queue = "work", .spec = "{}"},
                           .new_id = ids_.next(),
                           .start = Start{.owner = "worker-1", .token = ids_.next()}};
  const auto stored = node_.submitter.submit({&started, 1}).value().at(0);
  const std::vector<LeasedTask> lease = {{.id = stored.id, .number = stored.number, .attempt = 1}};
  EXPECT_EQ(trips_of([&] { expect_accepted(settle(completions(lease)), 1); }), 1U);
}

// The quick way writes what the careful one writes, and answers the same.
TEST_F(RoundTrips, LeaveTheSameStateAsTheGeneralPath) {
  const auto rows = [&](const std::string& after) {
    return ask(
        "select string_agg(concat_ws(',', hi - lo, queue, state, attempt, tries, finished_at >= started_at, owner,"
        " run_at, ended_event, ended_owner, results, errors, cancel_reason), ';' order by lo) from finished"
        " where lo > " +
        after);
  };
  const auto newest = [&] { return ask("select max(hi) from finished"); };
  std::string after = newest();
  auto batch = completions(submit_and_claim(8));
  const auto quick = settle(batch);
  const std::string quick_rows = rows(after);

  after = newest();
  batch = completions(submit_and_claim(8));
  CountedNode other(url());  // which does not know the leases
  const auto careful = other.settler.settle(batch).value();
  EXPECT_EQ(quick, careful);
  EXPECT_EQ(quick_rows, rows(after));
}

// ---- All in one transaction ----

TEST_F(RoundTrips, OneForASettleASubmitAndAClaimTogether) {
  const auto done = completions(submit_and_claim(kMany));
  const auto fresh = submissions(kMany);
  BundleOutcome outcome;
  EXPECT_EQ(trips_of([&] { outcome = exchange(done, fresh, {wish(kMany)}); }), 1U);
  expect_accepted(outcome.settled, kMany);
  EXPECT_THAT(outcome.submitted, SizeIs(kMany));
  ASSERT_THAT(outcome.leased.at(0).tasks, SizeIs(kMany));
  EXPECT_EQ(outcome.leased[0].tasks.front().spec, "3");
  EXPECT_EQ(ask("select count(distinct xmin::text) from (select xmin from running union all select xmin from task where"
                " number >= (select min(lo) from running)) as t"),
            "1")
      << "one commit";
  EXPECT_EQ(trips_of([&] { outcome = exchange(completions(outcome.leased[0].tasks), {}, {}); }), 1U);
  expect_accepted(outcome.settled, kMany);
  EXPECT_EQ(left(), "0");
}

TEST_F(RoundTrips, NewTasksThatAreClaimedAtOnceNeverBecomeReady) {
  const auto done = completions(submit_and_claim(8));
  ask("truncate ready");
  EXPECT_THAT(tasks_of(exchange(done, submissions(8), {wish(8)}).leased), ElementsAre(SizeIs(8)));
  EXPECT_EQ(ask("select pg_relation_size('ready')"), "0") << "not even of the gone";
  EXPECT_THAT(tasks_of(exchange({}, submissions(8), {wish(5)}).leased), ElementsAre(SizeIs(5)));
  EXPECT_EQ(ask("select string_agg((hi - lo + 1)::text, ' ' order by rank) from ready"), "1 2");
}

TEST_F(RoundTrips, OneIfSeveralClaim) {
  const auto done = completions(submit_and_claim(8));
  submit(8);
  BundleOutcome outcome;
  EXPECT_EQ(trips_of([&] { outcome = exchange(done, submissions(8), {wish(3), wish(4, "worker-2")}); }), 1U);
  expect_accepted(outcome.settled, 8);
  EXPECT_THAT(tasks_of(outcome.leased), ElementsAre(SizeIs(3), SizeIs(4)));
}

TEST_F(RoundTrips, ACompletionOfAChangedLeaseTakesTheGeneralPath) {
  const auto leases = submit_and_claim(8);
  auto beat = completions(leases)[0];
  beat.event = Event::kHeartbeat;
  beat.lease = 1h;
  CountedNode other(url());
  (void)other.settler.settle(std::vector{beat}).value();
  const auto outcome = exchange(completions(leases), submissions(4), {wish(4)});
  expect_accepted(outcome.settled, 8);
  EXPECT_THAT(tasks_of(outcome.leased), ElementsAre(SizeIs(4)));
  EXPECT_EQ(left(), "4");
}

TEST_F(RoundTrips, TasksOfAnotherNodeAreReadAfterAnExchange) {
  CountedNode other(url());
  auto theirs = submissions(4);
  for (Submission& each : theirs) each.task.priority = 0;  // not above the floor of this node
  (void)other.submitter.submit(theirs).value();
  const auto done = completions(claim(2));
  BundleOutcome outcome;
  EXPECT_EQ(trips_of([&] { outcome = exchange(done, {}, {wish(2)}); }), 2U);
  expect_accepted(outcome.settled, 2);
  ASSERT_THAT(tasks_of(outcome.leased), ElementsAre(SizeIs(2)));
  EXPECT_EQ(outcome.leased[0].tasks[0].spec, "2");
}

TEST_F(RoundTrips, ADuplicateIdRollsBackOnlyItsTransaction) {
  const auto done = completions(submit_and_claim(4));
  auto fresh = submissions(2);
  (void)node_.submitter.submit({fresh.data(), 1}).value();
  const auto outcome = exchange(done, fresh, {wish(4)});
  expect_accepted(outcome.settled, 4);
  EXPECT_THAT(outcome.submitted, ElementsAre(Field(&SubmitOutcome::kind, SubmitOutcome::Kind::kPresent),
                                             Field(&SubmitOutcome::kind, SubmitOutcome::Kind::kCreated)));
  EXPECT_THAT(tasks_of(outcome.leased), ElementsAre(SizeIs(2)));
  EXPECT_EQ(ask("select count(*) from task"), "9");
}

TEST_F(RoundTrips, AnExchangeDoesNotWaitForLockedTasks) {
  submit(1);
  const auto done = completions(claim(1));
  submit(1);
  const auto other = connect();
  (void)other->run_alone("begin; select * from ready for update").value();
  std::vector<LeasedTask> leased;
  std::thread exchanges([&] { leased = exchange(done, {}, {wish(1)}).leased.at(0).tasks; });
  EXPECT_TRUE(horae::testing::wait_until([&] { return left() == "0"; })) << "the settlement does not wait";
  (void)other->run_alone("rollback").value();
  exchanges.join();
  EXPECT_THAT(leased, SizeIs(1)) << "but the claim does";
}

// ---- Settlements that are not as simple as they looked ----

TEST_F(RoundTrips, ALeaseThatWasExtendedIsCompletedInOne) {
  const auto leases = submit_and_claim(4);
  auto beats = completions(leases);
  for (Settlement& said : beats) said.event = Event::kHeartbeat;
  (void)settle(beats);
  EXPECT_EQ(trips_of([&] { expect_accepted(settle(completions(leases)), 4); }), 1U);
  EXPECT_EQ(left(), "0");
}

TEST_F(RoundTrips, ALeaseThatIsExtendedMeanwhileIsCompleted) {
  const auto leases = submit_and_claim(4);
  const auto other = connect();
  (void)other->run_alone("begin; update running set expires = expires + interval '1 hour', length = length + 1")
      .value();
  std::vector<SettleOutcome> outcomes;
  std::thread settles([&] { outcomes = settle(completions(leases)); });
  EXPECT_TRUE(horae::testing::wait_until(
      [&] { return ask("select count(*) from pg_stat_activity where wait_event_type = 'Lock'") != "0"; }));
  (void)other->run_alone("commit").value();
  settles.join();
  expect_accepted(outcomes, 4);
  EXPECT_EQ(left(), "0");
}

TEST_F(RoundTrips, ALeaseThatAnotherNodeHasCutIsCompletedPieceByPiece) {
  const auto leases = submit_and_claim(8);
  auto beat = completions(leases)[0];
  beat.event = Event::kHeartbeat;
  beat.lease = 1h;
  CountedNode other(url());
  (void)other.settler.settle(std::vector{beat}).value();
  EXPECT_EQ(left(), "5");
  EXPECT_GT(trips_of([&] { expect_accepted(settle(completions(leases)), 8); }), 1U);
  EXPECT_EQ(left(), "0");
}

TEST_F(RoundTrips, AnExpiredAttemptIsRefusedAndItsResultKept) {
  const auto leases = submit_and_claim(4);
  ask("insert into ready (lo, hi, queue, rank, at, updated_at, attempt, tries, ended_event, ended_owner)"
      " select lo, hi, queue, rank, at, horae_now(), attempt, 1, 8, owner from running where lo = " +
      std::to_string(leases[0].number) + "; delete from running where lo = " + std::to_string(leases[0].number));
  const auto outcomes = settle(completions(leases));
  EXPECT_THAT(outcomes, ElementsAre(Field(&SettleOutcome::verdict, Verdict::kWrongState),
                                    Field(&SettleOutcome::verdict, Verdict::kAccepted),
                                    Field(&SettleOutcome::verdict, Verdict::kAccepted),
                                    Field(&SettleOutcome::verdict, Verdict::kAccepted)));
  EXPECT_EQ(ask("select detail from trail where lo = " + std::to_string(leases[0].number)), "{}");
}

TEST_F(RoundTrips, AnotherOwnerIsRefused) {
  auto batch = completions(submit_and_claim(4));
  for (Settlement& said : batch) said.owner = "worker-9";
  EXPECT_THAT(settle(batch), Each(Field(&SettleOutcome::verdict, Verdict::kStaleAttempt)));
  EXPECT_EQ(left(), "4");
}

TEST_F(RoundTrips, ARepeatedCompletionIsNoticed) {
  const auto batch = completions(submit_and_claim(4));
  expect_accepted(settle(batch), 4);
  const std::string before = all_of("finished") + all_of("tally");
  std::vector<SettleOutcome> again;
  EXPECT_EQ(trips_of([&] { again = settle(batch); }), 4U) << "no vain attempt before";
  EXPECT_THAT(again, Each(Field(&SettleOutcome::verdict, Verdict::kRepeated)));
  EXPECT_EQ(all_of("finished") + all_of("tally"), before);
}

TEST_F(RoundTrips, ATurnOfARecurringTaskTakesTheGeneralPathAtOnce) {
  const auto leases = submit_and_claim(1, {.recurring = 1h});
  std::vector<SettleOutcome> outcomes;
  EXPECT_EQ(trips_of([&] { outcomes = settle(completions(leases)); }), 4U) << "no vain attempt before";
  EXPECT_EQ(outcomes.at(0).state, State::kScheduled);
}

// ---- Claims that are not as simple as they looked ----

TEST_F(RoundTrips, AClaimTakesTheBeginningOfARangeAndLeavesTheRest) {
  const auto stored = submit(40);
  EXPECT_THAT(claim(15), SizeIs(15));
  EXPECT_EQ(ask("select string_agg(hi - lo + 1 || ' of ' || rank - (select min(rank) from running), ', ' order by lo)"
                " from running"),
            "10 of 0, 5 of 1");
  EXPECT_EQ(ask("select string_agg(hi - lo + 1 || ' of ' || rank - (select min(rank) from running), ', ' order by lo)"
                " from ready"),
            "5 of 1, 10 of 2, 10 of 3");
  EXPECT_THAT(claim(100), SizeIs(25));
}

TEST_F(RoundTrips, AClaimThatNeedsMoreRangesThanItLookedAtGetsThem) {
  for (int i = 0; i < 40; ++i) submit(1);  // each a range of its own
  EXPECT_THAT(claim(40), SizeIs(40));
}

TEST_F(RoundTrips, AClaimThatFindsNothingSaysSo) {
  EXPECT_THAT(claim(10), IsEmpty());
  submit(3);
  EXPECT_THAT(claim(10), SizeIs(3)) << "and the next one finds what came";
}

TEST_F(RoundTrips, NothingIsClaimedFromAPausedQueueOrAStoppedScheduler) {
  submit(4);
  ask("update queue set paused = true where name = 'work'");
  EXPECT_THAT(claim(1), IsEmpty());
  ask("update queue set paused = false");
  EXPECT_THAT(claim(1), SizeIs(1));
  ask("update control set stopped = true");
  EXPECT_THAT(claim(1), IsEmpty());
  ask("update control set stopped = false");
  EXPECT_THAT(claim(4), SizeIs(3));
}

TEST_F(RoundTrips, SeveralQueuesAreSharedOutByRank) {
  submit(40);
  submit(40, {.queue = "other"});
  const auto leases = claim(40, {"work", "other"});
  EXPECT_THAT(leases, SizeIs(40));
  EXPECT_EQ(leases.front().queue, "work");
  EXPECT_GE(std::ranges::count(leases, "other", &LeasedTask::queue), 10) << "at least its most urgent ones";
}

TEST_F(RoundTrips, TasksOfAnotherNodeCostOneMore) {
  CountedNode other(url());
  submit(8);
  const ClaimWish wish{.owner = "worker-2", .queues = {"work"}, .max = 4, .token = ids_.next()};
  const auto careful = other.claimer.claim({&wish, 1}).value().at(0).tasks;
  const std::uint64_t before = other.round_trips();
  const auto quick = other.claimer.claim({&wish, 1}).value().at(0).tasks;
  EXPECT_EQ(other.round_trips() - before, 2U);
  EXPECT_THAT(careful, SizeIs(4));
  ASSERT_THAT(quick, SizeIs(4));
  EXPECT_EQ(quick[0].spec, "1");
  EXPECT_EQ(quick[0].priority, 1);
  EXPECT_NE(quick[0].id, TaskId{});
}

TEST_F(RoundTrips, ASecondAttemptBringsTheCheckpoint) {
  auto leases = submit_and_claim(1);
  auto said = completions(leases)[0];
  said.event = Event::kYield;
  said.checkpoint = "[1]";
  (void)settle({said});
  leases = claim(1);
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(leases[0].attempt, 2);
  EXPECT_EQ(leases[0].checkpoint, "[1]");
  EXPECT_EQ(leases[0].spec, "0");
  EXPECT_EQ(trips_of([&] { expect_accepted(settle(completions(leases)), 1); }), 1U);
}

}  // namespace
}  // namespace horae::postgres
