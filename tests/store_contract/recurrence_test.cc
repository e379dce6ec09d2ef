// Tasks that come again.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_P(Recurrence, TheNextTurnIsDueOneIntervalAfterTheEnd) {
  const Lease lease = start({.recurring = 1min});
  advance(7s);
  const SettleOutcome outcome = settle(settlement(Event::kComplete, lease));
  EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
  EXPECT_EQ(outcome.state, State::kScheduled);
  const Task task = get(lease.id);
  EXPECT_EQ(task.state, State::kScheduled);
  EXPECT_EQ(task.run_at, now() + 1min);
  EXPECT_EQ(task.updated_at, now());
  EXPECT_EQ(task.recurring, Duration(1min));
  EXPECT_EQ(task.owner, std::nullopt);
  EXPECT_EQ(task.lease_expires, std::nullopt);
}

TEST_P(Recurrence, EachTurnIsANewAttemptOfTheSameTask) {
  Lease lease = start({.recurring = 1min});
  for (int attempt = 1; attempt <= 4; ++attempt) {
    EXPECT_EQ(lease.attempt, attempt);
    (void)complete(lease);
    advance(1min - 1us);
    EXPECT_EQ(promote().promoted, 0U);
    advance(1us);
    EXPECT_EQ(promote().promoted, 1U);
    const Lease next = claim();
    EXPECT_EQ(next.id, lease.id);
    lease = next;
  }
}

TEST_P(Recurrence, ATurnStartsFresh) {
  Lease lease = start({.recurring = 1s, .max_attempts = 2});
  (void)lose_leases();
  lease = claim();
  EXPECT_EQ(get(lease.id).tries, 1);
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.progress = 0.9;
  beat.checkpoint = "9";
  (void)settle(beat);
  (void)complete(lease);

  const Task task = get(lease.id);
  EXPECT_EQ(task.progress, 0.0);
  EXPECT_EQ(task.checkpoint, std::nullopt);
  EXPECT_EQ(task.tries, 0);
  EXPECT_EQ(task.attempt, 2);
}

TEST_P(Recurrence, TheBudgetIsFullAgainAtEachTurn) {
  Lease lease = start({.recurring = 1s, .max_attempts = 2});
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(lose_leases().at(0).state, State::kReady);
    lease = claim();
    EXPECT_EQ(complete(lease), Verdict::kAccepted);
    advance(1s);
    (void)promote();
    lease = claim();
  }
  EXPECT_EQ(lose_leases().at(0).state, State::kReady);
  (void)claim();
  EXPECT_EQ(lose_leases().at(0).state, State::kAborted);
}

TEST_P(Recurrence, TheResultIsShownUntilTheNextOne) {
  Lease lease = start({.recurring = 1s});
  for (const char* result : {"1", "2"}) {
    Settlement done = settlement(Event::kComplete, lease);
    done.result = result;
    (void)settle(done);
    EXPECT_EQ(get(lease.id).result, result);
    advance(1s);
    (void)promote();
    EXPECT_EQ(get(lease.id).result, result);
    lease = claim();
    EXPECT_EQ(get(lease.id).result, result);
    (void)lose_leases();
    EXPECT_EQ(get(lease.id).result, result);
    lease = claim();
  }
}

TEST_P(Recurrence, TheLastResultOutlivesTheEndOfTheRecurrence) {
  const auto second_turn = [&](std::string_view result) {
    Settlement done = settlement(Event::kComplete, start({.recurring = 1s, .max_attempts = 1}));
    done.result = result;
    (void)settle(done);
    advance(1s);
    (void)promote();
    return claim();
  };
  const Lease aborted = second_turn("1");
  (void)abort(aborted);
  EXPECT_EQ(get(aborted.id).result, "1");

  const Lease exhausted = second_turn("2");
  EXPECT_EQ(lose_leases().at(0).state, State::kAborted);
  EXPECT_EQ(get(exhausted.id).result, "2");

  const Lease cancelled = second_turn("3");
  (void)cancel(cancelled.id);
  EXPECT_EQ(get(cancelled.id).result, "3");
}

TEST_P(Recurrence, ARepeatedCompleteDoesNotMoveTheTurnAgain) {
  const Lease lease = start({.recurring = 1min});
  (void)complete(lease);
  const Task before = get(lease.id);
  advance(30s);
  const SettleOutcome again = settle(settlement(Event::kComplete, lease));
  EXPECT_EQ(again.verdict, Verdict::kRepeated);
  EXPECT_EQ(again.state, State::kScheduled);
  EXPECT_EQ(get(lease.id), before);
}

TEST_P(Recurrence, TheEndOfATurnIsRememberedWhileTheNextOneRuns) {
  const Lease first = start({.recurring = 1s});
  (void)complete(first);
  advance(1s);
  (void)promote();
  const Lease second = claim("worker-2");
  EXPECT_EQ(complete(first), Verdict::kRepeated);
  EXPECT_EQ(state_of(first.id), State::kRunning);
  EXPECT_EQ(complete(second), Verdict::kAccepted);
  EXPECT_EQ(complete(first), Verdict::kStaleAttempt);
}

TEST_P(Recurrence, AnAbortEndsIt) {
  const Lease lease = start({.recurring = 1s});
  (void)complete(lease);
  advance(1s);
  (void)promote();
  EXPECT_EQ(settle(settlement(Event::kAbort, claim())).state, State::kAborted);
  advance(1h);
  EXPECT_EQ(promote().promoted, 0U);
}

TEST_P(Recurrence, AnAbortThatIsRetriedDoesNot) {
  Lease lease = start({.recurring = 1min, .retry = {.kind = RetryPolicy::Kind::kFixed, .delay = 1s}});
  EXPECT_EQ(settle(settlement(Event::kAbort, lease)).state, State::kScheduled);
  EXPECT_EQ(get(lease.id).run_at, now() + 1s);
  advance(1s);
  (void)promote();
  lease = claim();
  (void)complete(lease);
  EXPECT_EQ(get(lease.id).run_at, now() + 1min);
  EXPECT_EQ(get(lease.id).tries, 0);
}

TEST_P(Recurrence, ExhaustedAttemptsEndIt) {
  const Lease lease = start({.recurring = 1s, .max_attempts = 1});
  EXPECT_EQ(lose_leases().at(0).state, State::kAborted);
  EXPECT_EQ(state_of(lease.id), State::kAborted);
}

TEST_P(Recurrence, AYieldIsNotTheEndOfATurn) {
  const Lease lease = start({.recurring = 1min});
  (void)yield(lease);
  EXPECT_EQ(state_of(lease.id), State::kReady);
  EXPECT_EQ(claim().id, lease.id);
}

TEST_P(Recurrence, ItIsNeverInTheListOfFinishedTasks) {
  const Lease lease = start({.recurring = 1min});
  (void)complete(lease);
  EXPECT_THAT(ids_in({.kind = ListKind::kFinished}), IsEmpty());
  EXPECT_THAT(ids_in({.kind = ListKind::kScheduled}), ElementsAre(lease.id));
  advance(kDefaultRetention * 2);
  EXPECT_EQ(purge().purged, 0U);
  EXPECT_EQ(state_of(lease.id), State::kScheduled);
}

TEST_P(Recurrence, TheShortestAndTheLongestInterval) {
  for (const Duration interval : {kMinRecurring, kMaxRecurring}) {
    const Lease lease = start({.recurring = interval});
    (void)complete(lease);
    EXPECT_EQ(get(lease.id).run_at - now(), interval);
    EXPECT_EQ(get(lease.id).recurring, interval);
  }
}

TEST_P(Recurrence, TheHistoryTellsOfAllTurns) {
  const Lease lease = start({.recurring = 1s});
  (void)complete(lease);
  advance(1s);
  (void)promote();
  (void)claim("worker-2");
  EXPECT_THAT(history_of(lease.id),
              ElementsAre(entry(HistoryKind::kAssignment, kOwner, 1), entry(HistoryKind::kAssignment, "worker-2", 2)));
}

}  // namespace
}  // namespace horae::testing
