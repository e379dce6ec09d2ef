// A client ends a task, for good.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_P(Cancel, AScheduledTaskNeverBecomesReady) {
  const TaskId id = submit({.run_at = now() + 1s});
  EXPECT_EQ(cancel(id), Verdict::kAccepted);
  advance(1h);
  EXPECT_EQ(promote().promoted, 0U);
  EXPECT_EQ(state_of(id), State::kCancelled);
}

TEST_P(Cancel, AReadyTaskIsNeverClaimed) {
  const TaskId id = submit();
  EXPECT_EQ(cancel(id), Verdict::kAccepted);
  EXPECT_THAT(claim_up_to(10), IsEmpty());
  EXPECT_EQ(state_of(id), State::kCancelled);
}

TEST_P(Cancel, ARunningTaskLosesItsLease) {
  const Lease lease = start({}, "worker-3");
  const Instant started = now();
  advance(2s);
  EXPECT_EQ(cancel(lease.id), Verdict::kAccepted);
  const Task task = get(lease.id);
  EXPECT_EQ(task.state, State::kCancelled);
  EXPECT_EQ(task.lease_expires, std::nullopt);
  EXPECT_EQ(task.owner, "worker-3");
  EXPECT_EQ(task.started_at, started);
  EXPECT_EQ(task.updated_at, now());
  EXPECT_FALSE(look().has_leases);
}

TEST_P(Cancel, CancelOfAWaitingTaskEndsNoAttempt) {
  const Lease lease = start();
  (void)yield(lease);
  (void)cancel(lease.id);
  EXPECT_EQ(get(lease.id).owner, std::nullopt);
  EXPECT_EQ(get(lease.id).started_at, std::nullopt);
  EXPECT_EQ(get(lease.id).attempt, 1);
}

TEST_P(Cancel, TheReasonIsKept) {
  const TaskId with = submit();
  const TaskId without = submit();
  const TaskId empty = submit();
  (void)cancel(with, "it's \"no\" longer needed \u2014 thanks\n");
  (void)cancel(without);
  (void)cancel(empty, "");
  EXPECT_EQ(get(with).cancel_reason, "it's \"no\" longer needed \u2014 thanks\n");
  EXPECT_EQ(get(without).cancel_reason, std::nullopt);
  EXPECT_EQ(get(empty).cancel_reason, "");
}

TEST_P(Cancel, ASecondCancelIsARepetitionAndTheFirstReasonStays) {
  const TaskId id = submit();
  (void)cancel(id, "first");
  const Task before = get(id);
  advance(1s);
  EXPECT_EQ(cancel(id, "second"), Verdict::kRepeated);
  EXPECT_EQ(get(id), before);
}

TEST_P(Cancel, ALateCompleteDoesNotOverwriteIt) {
  const Lease lease = start();
  (void)cancel(lease.id, "enough");
  Settlement done = settlement(Event::kComplete, lease);
  done.result = "1";
  EXPECT_EQ(settle(done).verdict, Verdict::kCancelled);
  EXPECT_EQ(state_of(lease.id), State::kCancelled);
  EXPECT_EQ(get(lease.id).result, std::nullopt);
  EXPECT_EQ(get(lease.id).cancel_reason, "enough");
}

TEST_P(Cancel, WhatHasEndedStaysAsItEnded) {
  const Lease completed = start();
  (void)complete(completed);
  const Lease aborted = start();
  (void)abort(aborted);
  for (const TaskId& id : {completed.id, aborted.id}) {
    const Task before = get(id);
    const auto outcome = value_of(tasks().cancel(std::vector{CancelWish{.id = id, .reason = "late"}})).at(0);
    EXPECT_EQ(outcome.verdict, Verdict::kWrongState);
    EXPECT_EQ(outcome.state, before.state);
    EXPECT_EQ(get(id), before);
  }
}

TEST_P(Cancel, AnUnknownTaskIsNotFound) {
  const auto outcome = value_of(tasks().cancel(std::vector{CancelWish{.id = new_id()}})).at(0);
  EXPECT_EQ(outcome, (CancelOutcome{.verdict = Verdict::kNotFound, .state = std::nullopt}));
}

TEST_P(Cancel, EndsARecurrence) {
  const Lease lease = start({.recurring = 1s});
  (void)complete(lease);
  EXPECT_EQ(cancel(lease.id), Verdict::kAccepted);
  advance(1h);
  EXPECT_EQ(promote().promoted, 0U);
}

TEST_P(Cancel, KeepsWhatTheTaskHadReached) {
  const Lease lease = start();
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.progress = 0.5;
  beat.checkpoint = "5";
  (void)settle(beat);
  (void)cancel(lease.id);
  EXPECT_EQ(get(lease.id).checkpoint, "5");
  EXPECT_EQ(get(lease.id).progress, 0.5);
  EXPECT_THAT(history_of(lease.id), ElementsAre(entry(HistoryKind::kAssignment, kOwner, 1)));
}

TEST_P(Cancel, EachItemOfABatchHasItsOwnOutcome) {
  const TaskId ready = submit();
  const TaskId unknown = new_id();
  const auto outcomes = value_of(tasks().cancel(
      std::vector{CancelWish{.id = ready, .reason = "a"}, CancelWish{.id = unknown}, CancelWish{.id = ready}}));
  EXPECT_EQ(outcomes[0], (CancelOutcome{Verdict::kAccepted, State::kCancelled}));
  EXPECT_EQ(outcomes[1], (CancelOutcome{Verdict::kNotFound, std::nullopt}));
  EXPECT_EQ(outcomes[2], (CancelOutcome{Verdict::kRepeated, State::kCancelled}));
  EXPECT_EQ(get(ready).cancel_reason, "a");
}

}  // namespace
}  // namespace horae::testing
