// Settlements: accepted, repeated, refused.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

constexpr std::array kSettleEvents = {Event::kHeartbeat, Event::kComplete, Event::kAbort, Event::kYield,
                                      Event::kRelease};
constexpr std::array kEnds = {Event::kComplete, Event::kAbort, Event::kYield, Event::kRelease};

// ---- Accepted ----

TEST_P(Settle, AHeartbeatExtendsTheLeaseFromNow) {
  const Lease lease = start();
  advance(4s);
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.lease = 30s;
  const SettleOutcome outcome = settle(beat);
  EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
  EXPECT_EQ(outcome.state, State::kRunning);
  EXPECT_EQ(outcome.attempt, 1);
  EXPECT_EQ(outcome.owner, kOwner);
  EXPECT_EQ(outcome.lease_expires, now() + 30s);
  EXPECT_EQ(get(lease.id).lease_expires, now() + 30s);
}

TEST_P(Settle, AHeartbeatWithoutALengthKeepsThatOfTheLease) {
  (void)submit();
  ClaimWish long_wish = wish();
  long_wish.lease = 5min;
  const Lease lease = claim(long_wish).at(0);
  advance(1min);
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.lease.reset();
  EXPECT_EQ(settle(beat).lease_expires, now() + 5min);
  EXPECT_EQ(get(lease.id).lease_expires, now() + 5min);

  beat.lease = 20s;
  (void)settle(beat);
  advance(1s);
  beat.lease.reset();
  EXPECT_EQ(settle(beat).lease_expires, now() + 20s);
}

TEST_P(Settle, AHeartbeatMayShortenTheLease) {
  const Lease lease = start();
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.lease = kMinLease;
  (void)settle(beat);
  EXPECT_EQ(get(lease.id).lease_expires, now() + 100ms);
}

TEST_P(Settle, AHeartbeatBringsProgressAndCheckpointOnlyIfGiven) {
  const Lease lease = start();
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.progress = 0.25;
  beat.checkpoint = R"({"row":17})";
  (void)settle(beat);
  (void)heartbeat(lease);
  EXPECT_EQ(get(lease.id).progress, 0.25);
  EXPECT_EQ(get(lease.id).checkpoint, R"({"row":17})");

  beat.progress = 0.5;
  beat.checkpoint.reset();
  (void)settle(beat);
  EXPECT_EQ(get(lease.id).progress, 0.5);
  EXPECT_EQ(get(lease.id).checkpoint, R"({"row":17})");
}

TEST_P(Settle, AHeartbeatIsAnUpdateOnlyIfItBringsSomething) {
  const Lease lease = start();
  const Instant claimed = now();
  advance(1s);
  (void)heartbeat(lease);
  EXPECT_EQ(get(lease.id).updated_at, claimed);
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.progress = 0.25;
  (void)settle(beat);
  EXPECT_EQ(get(lease.id).updated_at, now());
}

TEST_P(Settle, ProgressMayFall) {
  const Lease lease = start();
  for (const double progress : {1.0, 0.1, 1e-300, 0.30000000000000004, 0.0}) {
    Settlement beat = settlement(Event::kHeartbeat, lease);
    beat.progress = progress;
    (void)settle(beat);
    EXPECT_EQ(get(lease.id).progress, progress);
  }
}

TEST_P(Settle, AHeartbeatAfterTheEndOfTheLeaseIsAcceptedUntilTheLeaseExpires) {
  const Lease lease = start();
  advance(1h);
  EXPECT_EQ(heartbeat(lease), Verdict::kAccepted);
  EXPECT_EQ(get(lease.id).lease_expires, now() + 10s);
}

TEST_P(Settle, ACompletedTaskShowsItsResultAndItsLastOwner) {
  const Lease lease = start({}, "worker-3");
  const Instant started = now();
  advance(4s);
  Settlement done = settlement(Event::kComplete, lease);
  done.result = R"({"rows":3})";
  const SettleOutcome outcome = settle(done);
  EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
  EXPECT_EQ(outcome.state, State::kCompleted);
  EXPECT_EQ(outcome.attempt, 1);
  EXPECT_EQ(outcome.owner, "worker-3");
  EXPECT_EQ(outcome.lease_expires, std::nullopt);

  const Task task = get(lease.id);
  EXPECT_EQ(task.state, State::kCompleted);
  EXPECT_EQ(task.progress, 1.0);
  EXPECT_EQ(task.result, R"({"rows":3})");
  EXPECT_EQ(task.owner, "worker-3");
  EXPECT_EQ(task.started_at, started);
  EXPECT_EQ(task.updated_at, now());
  EXPECT_EQ(task.lease_expires, std::nullopt);
  EXPECT_TRUE(task.errors.empty());
}

TEST_P(Settle, ACompletionMayBringNoResult) {
  const Lease lease = start();
  (void)complete(lease);
  EXPECT_EQ(get(lease.id).result, std::nullopt);
}

TEST_P(Settle, AnAbortIsFinalByDefaultAndKeepsItsErrors) {
  const Lease lease = start();
  advance(4s);
  Settlement failed = settlement(Event::kAbort, lease);
  failed.errors = {{.code = "e1", .args = "{ \"a\" : 1 }", .description = "first"}, {.code = "e2"}};
  EXPECT_EQ(settle(failed).state, State::kAborted);
  const Task task = get(lease.id);
  EXPECT_EQ(task.state, State::kAborted);
  EXPECT_EQ(task.errors, failed.errors);
  EXPECT_EQ(task.owner, kOwner);
  EXPECT_EQ(task.updated_at, now());
  EXPECT_EQ(task.lease_expires, std::nullopt);
  EXPECT_EQ(task.result, std::nullopt);
}

TEST_P(Settle, AYieldGivesTheTaskBackWithItsCheckpoint) {
  const Lease lease = start();
  Settlement given = settlement(Event::kYield, lease);
  given.progress = 0.75;
  given.checkpoint = "[7]";
  const SettleOutcome outcome = settle(given);
  EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
  EXPECT_EQ(outcome.state, State::kReady);
  EXPECT_EQ(outcome.lease_expires, std::nullopt);

  const Task task = get(lease.id);
  EXPECT_EQ(task.state, State::kReady);
  EXPECT_EQ(task.progress, 0.0);
  EXPECT_EQ(task.checkpoint, "[7]");
  EXPECT_EQ(task.tries, 0);
  EXPECT_EQ(task.attempt, 1);
  EXPECT_EQ(task.owner, std::nullopt);
  EXPECT_EQ(task.started_at, std::nullopt);
  EXPECT_EQ(task.lease_expires, std::nullopt);
  EXPECT_EQ(claim("worker-2").checkpoint, "[7]");
}

TEST_P(Settle, AReleaseChangesNothingButTheLease) {
  const Lease first = start();
  Settlement given = settlement(Event::kYield, first);
  given.checkpoint = "[7]";
  (void)settle(given);
  const Task before = get(first.id);

  EXPECT_EQ(release(claim("worker-2")), Verdict::kAccepted);
  Task after = get(first.id);
  EXPECT_EQ(after.attempt, 2);
  after.attempt = before.attempt;
  after.updated_at = before.updated_at;
  EXPECT_EQ(after, before);
}

// ---- Repeated ----

TEST_P(Settle, TheSameEndAgainIsARepetition) {
  for (const Event event : kEnds) {
    SCOPED_TRACE(to_string(event));
    const Lease lease = start({.queue = std::string(to_string(event))});
    EXPECT_EQ(settle(settlement(event, lease)).verdict, Verdict::kAccepted);
    const Task before = get(lease.id);
    advance(1s);
    const SettleOutcome again = settle(settlement(event, lease));
    EXPECT_EQ(again.verdict, Verdict::kRepeated);
    EXPECT_EQ(again.state, before.state);
    EXPECT_EQ(again.attempt, 1);
    EXPECT_EQ(get(lease.id), before);
  }
}

TEST_P(Settle, ARepetitionChangesNothingEvenIfItBringsSomethingElse) {
  const Lease lease = start();
  Settlement done = settlement(Event::kComplete, lease);
  done.result = "1";
  (void)settle(done);
  done.result = "2";
  EXPECT_EQ(settle(done).verdict, Verdict::kRepeated);
  EXPECT_EQ(get(lease.id).result, "1");
}

TEST_P(Settle, AnEndIsRememberedWhileTheNextAttemptRuns) {
  for (const Event event : {Event::kYield, Event::kRelease}) {
    SCOPED_TRACE(to_string(event));
    const std::string queue(to_string(event));
    const Lease first = start({.queue = queue});
    (void)settle(settlement(event, first));
    (void)claim("worker-2", queue);
    const SettleOutcome again = settle(settlement(event, first));
    EXPECT_EQ(again.verdict, Verdict::kRepeated);
    EXPECT_EQ(again.state, State::kRunning);
    EXPECT_EQ(again.attempt, 2);
    EXPECT_EQ(again.owner, "worker-2");
    EXPECT_EQ(get(first.id).owner, "worker-2");
  }
}

TEST_P(Settle, AnEndIsForgottenWhenTheNextAttemptHasEnded) {
  const Lease first = start();
  (void)yield(first);
  (void)yield(claim("worker-2"));
  EXPECT_EQ(yield(first), Verdict::kStaleAttempt);
}

TEST_P(Settle, AnEndIsRememberedAfterACancel) {
  const Lease lease = start();
  (void)yield(lease);
  (void)cancel(lease.id);
  EXPECT_EQ(yield(lease), Verdict::kRepeated);
  EXPECT_EQ(complete(lease), Verdict::kCancelled);
}

TEST_P(Settle, AnotherKindOfEndIsNoRepetition) {
  const Lease lease = start();
  (void)complete(lease);
  EXPECT_EQ(abort(lease), Verdict::kWrongState);
  EXPECT_EQ(yield(lease), Verdict::kWrongState);
  EXPECT_EQ(release(lease), Verdict::kWrongState);
  EXPECT_EQ(state_of(lease.id), State::kCompleted);
}

TEST_P(Settle, AnotherOwnersEndIsNoRepetition) {
  Lease lease = start();
  (void)complete(lease);
  lease.owner = "worker-2";
  EXPECT_EQ(complete(lease), Verdict::kWrongState);
}

TEST_P(Settle, AHeartbeatIsNeverARepetition) {
  const Lease lease = start();
  EXPECT_EQ(heartbeat(lease), Verdict::kAccepted);
  EXPECT_EQ(heartbeat(lease), Verdict::kAccepted);
}

// ---- Refused ----

TEST_P(Settle, AnUnknownTaskIsNotFound) {
  Lease lease = start();
  lease.id = new_id();
  lease.number = 0;
  for (const Event event : kSettleEvents) {
    EXPECT_EQ(settle(settlement(event, lease)), SettleOutcome{.verdict = Verdict::kNotFound}) << to_string(event);
  }
}

TEST_P(Settle, AnotherOwnerIsRefusedWhileTheTaskRuns) {
  const Lease mine = start({}, "worker-1");
  const Task before = get(mine.id);
  Lease theirs = mine;
  theirs.owner = "worker-2";
  for (const Event event : {Event::kHeartbeat, Event::kYield, Event::kRelease}) {
    SCOPED_TRACE(to_string(event));
    const SettleOutcome outcome = settle(settlement(event, theirs));
    EXPECT_EQ(outcome.verdict, Verdict::kStaleAttempt);
    EXPECT_EQ(outcome.state, State::kRunning);
    EXPECT_EQ(outcome.attempt, 1);
    EXPECT_EQ(outcome.owner, "worker-1");
    EXPECT_EQ(outcome.lease_expires, mine.lease_expires);
    EXPECT_EQ(get(mine.id), before);
  }
  EXPECT_EQ(complete(theirs), Verdict::kStaleAttempt);
  EXPECT_EQ(abort(theirs), Verdict::kStaleAttempt);
  EXPECT_EQ(complete(mine), Verdict::kAccepted);
}

TEST_P(Settle, AnotherAttemptIsRefusedWhileTheTaskRuns) {
  const Lease first = start();
  (void)yield(first);
  const Lease second = claim();  // the same owner
  for (const Event event : {Event::kHeartbeat, Event::kComplete, Event::kAbort, Event::kRelease}) {
    SCOPED_TRACE(to_string(event));
    EXPECT_EQ(settle(settlement(event, first)).verdict, Verdict::kStaleAttempt);
    Lease future = second;
    future.attempt = 3;
    EXPECT_EQ(settle(settlement(event, future)).verdict, Verdict::kStaleAttempt);
    EXPECT_EQ(state_of(first.id), State::kRunning);
  }
  EXPECT_EQ(complete(second), Verdict::kAccepted);
}

TEST_P(Settle, AnAttemptIsOverWhenItsLeaseHasExpired) {
  const Lease first = start();
  (void)lose_leases();
  for (const Event event : kSettleEvents) {
    EXPECT_EQ(settle(settlement(event, first)).verdict, Verdict::kWrongState) << to_string(event);
  }
  const Lease second = claim("worker-2");
  for (const Event event : kSettleEvents) {
    EXPECT_EQ(settle(settlement(event, first)).verdict, Verdict::kStaleAttempt) << to_string(event);
  }
  EXPECT_EQ(complete(second), Verdict::kAccepted);
  for (const Event event : kSettleEvents) {
    EXPECT_EQ(settle(settlement(event, first)).verdict, Verdict::kStaleAttempt) << to_string(event);
  }
}

TEST_P(Settle, TheOwnerOfACancelledTaskGetsCancelled) {
  const Lease lease = start();
  (void)cancel(lease.id);
  for (const Event event : kSettleEvents) {
    const SettleOutcome outcome = settle(settlement(event, lease));
    EXPECT_EQ(outcome.verdict, Verdict::kCancelled) << to_string(event);
    EXPECT_EQ(outcome.state, State::kCancelled);
  }
}

// The end of attempt 1 must not be taken for the end of attempt 2, which the cancel ended.
TEST_P(Settle, ACancelledAttemptIsNotARepetitionOfTheOneBefore) {
  for (const Event event : {Event::kYield, Event::kRelease}) {
    SCOPED_TRACE(to_string(event));
    const std::string queue(to_string(event));
    const Lease first = start({.queue = queue});
    (void)settle(settlement(event, first));
    const Lease second = claim(kOwner, queue);
    (void)cancel(second.id);
    EXPECT_EQ(settle(settlement(event, second)).verdict, Verdict::kCancelled);
    EXPECT_EQ(settle(settlement(event, first)).verdict, Verdict::kCancelled);
  }
}

TEST_P(Settle, ATaskThatNeverBeganIsInTheWrongState) {
  const TaskId id = submit();
  for (const Event event : kSettleEvents) {
    Lease lease{{.id = id, .attempt = 1}, kOwner};
    EXPECT_EQ(settle(settlement(event, lease)).verdict, Verdict::kWrongState) << to_string(event);
    lease.attempt = 0;
    EXPECT_EQ(settle(settlement(event, lease)).verdict, Verdict::kWrongState) << to_string(event);
  }
  EXPECT_EQ(get(id).history, History{});
}

}  // namespace
}  // namespace horae::testing
