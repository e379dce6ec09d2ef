// What a submit stores, and how a repeated one is recognised.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using Kind = SubmitOutcome::Kind;

TEST_P(Submit, StoresWhatTheClientAskedFor) {
  const Instant run_at = now() + 90s;
  const NewTask request{
      .key = "invoice-7",
      .queue = "mail",
      .priority = 200,
      .spec = R"({"to":"a@example.org"})",
      .run_at = run_at,
      .recurring = 5min,
      .max_attempts = 3,
      .retry = {.kind = RetryPolicy::Kind::kExponential, .delay = 2s, .factor = 1.5, .cap = 3min, .jitter = 0.25}};
  const Task task = get(submit(request));

  EXPECT_EQ(task.key, "invoice-7");
  EXPECT_EQ(task.queue, "mail");
  EXPECT_EQ(task.priority, 200);
  EXPECT_EQ(task.spec, R"({"to":"a@example.org"})");
  EXPECT_EQ(task.run_at, run_at);
  EXPECT_EQ(task.recurring, Duration(5min));
  EXPECT_EQ(task.max_attempts, 3);
  EXPECT_EQ(task.retry, request.retry);
}

TEST_P(Submit, ANewTaskHasNotBegun) {
  const Task task = get(submit());

  EXPECT_EQ(task.created_at, now());
  EXPECT_EQ(task.updated_at, now());
  EXPECT_EQ(task.attempt, 0);
  EXPECT_EQ(task.tries, 0);
  EXPECT_EQ(task.progress, 0.0);
  EXPECT_EQ(task.key, std::nullopt);
  EXPECT_EQ(task.owner, std::nullopt);
  EXPECT_EQ(task.started_at, std::nullopt);
  EXPECT_EQ(task.lease_expires, std::nullopt);
  EXPECT_EQ(task.result, std::nullopt);
  EXPECT_EQ(task.checkpoint, std::nullopt);
  EXPECT_EQ(task.cancel_reason, std::nullopt);
  EXPECT_TRUE(task.errors.empty());
  EXPECT_EQ(task.history, History{});
}

TEST_P(Submit, ATaskWithoutRunAtIsReadyNow) {
  const Task task = get(submit());
  EXPECT_EQ(task.state, State::kReady);
  EXPECT_EQ(task.run_at, now());
}

TEST_P(Submit, ATaskThatIsDueNowIsReady) { EXPECT_EQ(state_of(submit({.run_at = now()})), State::kReady); }

TEST_P(Submit, ATaskThatIsDueInAMicrosecondIsScheduled) {
  EXPECT_EQ(state_of(submit({.run_at = now() + 1us})), State::kScheduled);
}

TEST_P(Submit, ARunAtInThePastIsKeptAsGiven) {
  const Task task = get(submit({.run_at = now() - 1h}));
  EXPECT_EQ(task.state, State::kReady);
  EXPECT_EQ(task.run_at, now() - 1h);
}

TEST_P(Submit, ReturnsTheStateAndTheNumber) {
  const SubmitOutcome ready = try_submit({});
  const SubmitOutcome scheduled = try_submit({.run_at = now() + 1h});
  EXPECT_EQ(ready.state, State::kReady);
  EXPECT_EQ(scheduled.state, State::kScheduled);
  EXPECT_EQ(get(ready.id).number, ready.number);
  EXPECT_GT(ready.number, 0);
  EXPECT_GT(scheduled.number, ready.number);
}

TEST_P(Submit, NumbersRiseInTheOrderOfTheBatch) {
  const auto outcomes = submit_all({submission(), submission(), submission()});
  EXPECT_LT(outcomes[0].number, outcomes[1].number);
  EXPECT_LT(outcomes[1].number, outcomes[2].number);
}

TEST_P(Submit, TheClientsOwnIdIsTaken) {
  const TaskId mine = *parse_uuid("00000000-0000-4000-8000-000000000001");
  EXPECT_EQ(submit({.id = mine}), mine);
  EXPECT_EQ(get(mine).id, mine);
}

TEST_P(Submit, EvenTheNilUuidIsAnId) {
  EXPECT_EQ(submit({.id = Uuid{}}), Uuid{});
  EXPECT_EQ(state_of(Uuid{}), State::kReady);
}

TEST_P(Submit, ARepeatedCallWhoseReplyWasLostFindsItsTask) {
  const Submission request = submission({.priority = 7});
  const SubmitOutcome first = submit_all({request}).at(0);
  const SubmitOutcome second = submit_all({request}).at(0);
  EXPECT_EQ(first.kind, Kind::kCreated);
  EXPECT_EQ(second.kind, Kind::kPresent);
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(second.number, first.number);
  EXPECT_EQ(queue().ready, 1);
}

TEST_P(Submit, TheSameRequestUnderOneKeyIsOneTask) {
  const SubmitOutcome first = try_submit({.key = "k"});
  const SubmitOutcome second = try_submit({.key = "k"});
  EXPECT_EQ(first.kind, Kind::kCreated);
  EXPECT_EQ(second.kind, Kind::kPresent);
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(second.number, first.number);
  EXPECT_EQ(queue().ready, 1);
}

TEST_P(Submit, AnotherRequestUnderTheKeyIsAConflictAndLeavesTheTaskAlone) {
  const TaskId first = submit({.key = "k", .spec = "1"});
  const SubmitOutcome second = try_submit({.key = "k", .spec = "2"});
  EXPECT_EQ(second.kind, Kind::kConflict);
  EXPECT_EQ(second.id, first);
  EXPECT_EQ(get(first).spec, "1");
  EXPECT_EQ(queue().ready, 1);
}

TEST_P(Submit, EveryPartOfTheRequestCountsForAConflict) {
  const NewTask request{.key = "k", .spec = "1"};
  (void)submit(request);
  std::vector<NewTask> variants(8, request);
  variants[0].id = new_id();
  variants[1].priority = 51;
  variants[2].spec = "1 ";
  variants[3].run_at = now();
  variants[4].recurring = 1s;
  variants[5].max_attempts = 1;
  variants[6].retry.kind = RetryPolicy::Kind::kFixed;
  variants[7].retry.jitter = 0.5;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    EXPECT_EQ(try_submit(variants[i]).kind, Kind::kConflict) << "variant " << i;
  }
}

TEST_P(Submit, AnotherRequestUnderTheIdIsAConflict) {
  const TaskId mine = new_id();
  (void)submit({.id = mine, .spec = "1"});
  const SubmitOutcome second = try_submit({.id = mine, .spec = "2"});
  EXPECT_EQ(second.kind, Kind::kConflict);
  EXPECT_EQ(second.id, mine);
  EXPECT_EQ(get(mine).spec, "1");
}

TEST_P(Submit, AnIdIsTakenInEveryQueue) {
  const TaskId mine = new_id();
  (void)submit({.id = mine, .queue = "a"});
  EXPECT_EQ(try_submit({.id = mine, .queue = "b"}).kind, Kind::kConflict);
  EXPECT_EQ(get(mine).queue, "a");
}

TEST_P(Submit, AKeyCountsWithinItsQueueOnly) {
  const TaskId one = submit({.key = "k", .queue = "a"});
  const TaskId other = submit({.key = "k", .queue = "b"});
  EXPECT_NE(one, other);
}

TEST_P(Submit, KeysAreComparedByteForByte) {
  (void)submit({.key = "key"});
  EXPECT_EQ(try_submit({.key = "KEY"}).kind, Kind::kCreated);
  EXPECT_EQ(try_submit({.key = "key "}).kind, Kind::kCreated);
  EXPECT_EQ(try_submit({.key = "k\u00e9y"}).kind, Kind::kCreated);
  EXPECT_EQ(try_submit({.key = "ke\u0301y"}).kind, Kind::kCreated);
}

TEST_P(Submit, QueueNamesAreComparedByteForByte) {
  (void)submit({.key = "k", .queue = "Mail"});
  EXPECT_EQ(try_submit({.key = "k", .queue = "mail"}).kind, Kind::kCreated);
  EXPECT_TRUE(claim_up_to(5, kOwner, {"MAIL"}).empty());
}

TEST_P(Submit, ALostReplyIsFoundByItsIdAlsoWhenAnotherTaskHasTheSameContent) {
  const Submission one = submission();
  const Submission other = submission();
  ASSERT_EQ(one.task, other.task);
  (void)submit_all({one});
  EXPECT_EQ(submit_all({other}).at(0).kind, Kind::kCreated);
}

// Reading: where the key and the id are taken by two different tasks, the outcome names the one under the key.
TEST_P(Submit, AKeyOfOneTaskAndAnIdOfAnotherAreAConflictWithTheKey) {
  const TaskId keyed = submit({.key = "k"});
  const TaskId other = submit({.id = new_id()});
  const SubmitOutcome outcome = try_submit({.id = other, .key = "k"});
  EXPECT_EQ(outcome.kind, Kind::kConflict);
  EXPECT_EQ(outcome.id, keyed);
}

TEST_P(Submit, APresentTaskIsReturnedWithItsPresentState) {
  const Submission request = submission({.key = "k"});
  (void)submit_all({request});
  (void)complete(claim());
  const SubmitOutcome again = submit_all({request}).at(0);
  EXPECT_EQ(again.kind, Kind::kPresent);
  EXPECT_EQ(again.state, State::kCompleted);
}

TEST_P(Submit, AScheduledTaskThatHasComeDueIsStillTheSameRequest) {
  const NewTask request{.key = "k", .run_at = now() + 1s};
  (void)submit(request);
  advance(1h);
  EXPECT_EQ(try_submit(request).kind, Kind::kPresent);
}

TEST_P(Submit, ALaterItemOfABatchSeesTheEarlierOnes) {
  const auto outcomes = submit_all({submission({.key = "k"}), submission({.key = "k"}),
                                    submission({.key = "k", .priority = 1}), submission({.key = "other"})});
  EXPECT_EQ(outcomes[0].kind, Kind::kCreated);
  EXPECT_EQ(outcomes[1].kind, Kind::kPresent);
  EXPECT_EQ(outcomes[1].id, outcomes[0].id);
  EXPECT_EQ(outcomes[2].kind, Kind::kConflict);
  EXPECT_EQ(outcomes[3].kind, Kind::kCreated);
}

TEST_P(Submit, TheSameSubmissionTwiceInABatchIsOneTask) {
  const Submission request = submission();
  const auto outcomes = submit_all({request, request});
  EXPECT_EQ(outcomes[0].kind, Kind::kCreated);
  EXPECT_EQ(outcomes[1].kind, Kind::kPresent);
  EXPECT_EQ(queue().ready, 1);
}

TEST_P(Submit, AConflictInABatchStopsNothingElse) {
  (void)submit({.key = "k"});
  const auto outcomes = submit_all({submission(), submission({.key = "k", .priority = 1}), submission()});
  EXPECT_EQ(outcomes[0].kind, Kind::kCreated);
  EXPECT_EQ(outcomes[1].kind, Kind::kConflict);
  EXPECT_EQ(outcomes[2].kind, Kind::kCreated);
  EXPECT_EQ(claim_up_to(10).size(), 3U);
}

// A number without a task would be claimed, expire and come back for ever.
TEST_P(Submit, WhatWasNotCreatedIsNeverClaimed) {
  const TaskId only = submit({.key = "k"});
  (void)try_submit({.key = "k"});
  (void)try_submit({.key = "k", .priority = 99});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(only));
}

TEST_P(Submit, MakesTheQueueWithItsDefaults) {
  (void)submit({.queue = "new"});
  EXPECT_EQ(queue("new").settings, QueueSettings{});
}

// ---- Started by its submission ----

TEST_P(Submit, ATaskMayBeginAsRunning) {
  configure(kQueue, {.paused = true});
  Submission started = submission({.max_attempts = 1});
  started.start = Start{.owner = kOwner, .token = new_id(), .lease = 20s};
  const SubmitOutcome outcome = submit_all({started})[0];
  EXPECT_EQ(outcome.kind, SubmitOutcome::Kind::kCreated);
  EXPECT_EQ(outcome.state, State::kRunning);

  const Task task = get(outcome.id);
  EXPECT_EQ(task.state, State::kRunning);
  EXPECT_EQ(task.attempt, 1);
  EXPECT_EQ(task.owner, kOwner);
  EXPECT_EQ(task.started_at, now());
  EXPECT_EQ(task.lease_expires, now() + 20s);
  EXPECT_THAT(task.history.entries(), ElementsAre(entry(HistoryKind::kAssignment, kOwner, 1)));
  EXPECT_EQ(queue().running, 1);
  EXPECT_EQ(queue().ready, 0);
  EXPECT_EQ(ids_of(value_of(tasks().leases_of(started.start->token))), std::vector{outcome.id});
}

TEST_P(Submit, AStartedTaskIsSettledLikeAnyOther) {
  Submission started = submission();
  started.start = Start{.owner = kOwner, .token = new_id()};
  const SubmitOutcome outcome = submit_all({started})[0];
  Lease lease;
  lease.id = outcome.id;
  lease.number = outcome.number;
  lease.attempt = 1;
  lease.owner = kOwner;
  EXPECT_EQ(release(lease), Verdict::kAccepted);
  EXPECT_EQ(claim("worker-2").attempt, 2);
  EXPECT_EQ(submit_all({started})[0].kind, SubmitOutcome::Kind::kPresent);
}

TEST_P(Submit, AStartedTaskThatIsLostIsAbortedWhenItHasOneAttempt) {
  Submission started = submission({.max_attempts = 1});
  started.start = Start{.owner = kOwner, .token = new_id()};
  const SubmitOutcome outcome = submit_all({started, submission({.priority = 3})})[0];
  EXPECT_EQ(lose_leases().at(0).state, State::kAborted);
  EXPECT_EQ(get(outcome.id).errors.at(0).code, "attempts_exhausted");
}

TEST_P(Submit, AStartCannotWaitAndNeedsAnOwnerAndALease) {
  Submission waits = submission({.run_at = now() + 1s});
  waits.start = Start{.owner = kOwner, .token = new_id()};
  Submission ownerless = submission();
  ownerless.start = Start{.owner = "", .token = new_id()};
  Submission brief = submission();
  brief.start = Start{.owner = kOwner, .token = new_id(), .lease = 1ms};
  for (const Submission& bad : {waits, ownerless, brief}) {
    EXPECT_EQ(code_of(tasks().submit(std::vector{bad})), ErrorCode::kRefused);
  }
}

}  // namespace
}  // namespace horae::testing
