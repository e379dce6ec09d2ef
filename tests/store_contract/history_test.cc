// The history of a task, and the results that came too late.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_P(TaskHistory, TellsWhatHappenedInItsOrder) {
  Lease lease = start({.retry = {.kind = RetryPolicy::Kind::kFixed, .delay = 1s}}, "worker-1");
  const Instant begin = now();
  advance(1s);
  (void)yield(lease);
  advance(1s);
  (void)claim("worker-2");
  (void)lose_leases();
  lease = claim("worker-3");
  (void)abort(lease);
  advance(1s);
  (void)promote();
  lease = claim("worker-4");
  (void)complete(lease);

  const auto history = history_of(lease.id);
  ASSERT_THAT(history,
              ElementsAre(entry(HistoryKind::kAssignment, "worker-1", 1), entry(HistoryKind::kYield, "worker-1", 1),
                          entry(HistoryKind::kAssignment, "worker-2", 2), entry(HistoryKind::kTimeout, "worker-2", 2),
                          entry(HistoryKind::kAssignment, "worker-3", 3), entry(HistoryKind::kRetry, "worker-3", 3),
                          entry(HistoryKind::kAssignment, "worker-4", 4)));
  EXPECT_EQ(history[0].time, begin);
  EXPECT_EQ(history[1].time, begin + 1s);
  EXPECT_EQ(history[2].time, begin + 2s);
  EXPECT_EQ(history[6].time, now());
}

TEST_P(TaskHistory, AYieldTellsTheProgressGivenWithIt) {
  const Lease lease = start();
  Settlement given = settlement(Event::kYield, lease);
  given.progress = 0.75;
  (void)settle(given);
  EXPECT_EQ(newest_entry_of(lease.id).progress, 0.75);
}

TEST_P(TaskHistory, AYieldWithoutProgressTellsTheLastOne) {
  const Lease lease = start();
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.progress = 0.25;
  (void)settle(beat);
  (void)yield(lease);
  EXPECT_EQ(newest_entry_of(lease.id).progress, 0.25);
}

TEST_P(TaskHistory, ATimeoutTellsTheProgressReached) {
  const Lease lease = start();
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.progress = 0.25;
  (void)settle(beat);
  (void)lose_leases();
  const HistoryEntry timeout = newest_entry_of(lease.id);
  EXPECT_EQ(timeout.kind, HistoryKind::kTimeout);
  EXPECT_EQ(timeout.progress, 0.25);
  EXPECT_EQ(timeout.time, now());
}

TEST_P(TaskHistory, OnlyYieldsAndTimeoutsTellProgress) {
  const Lease lease = start({.retry = {.kind = RetryPolicy::Kind::kFixed, .delay = 1s}});
  (void)abort(lease);
  (void)complete(lease);
  for (const HistoryEntry& each : history_of(lease.id)) EXPECT_EQ(each.progress, std::nullopt);
}

TEST_P(TaskHistory, HeartbeatsLeaveNoTrace) {
  const Lease lease = start();
  for (int i = 0; i < 5; ++i) (void)heartbeat(lease);
  EXPECT_THAT(history_of(lease.id), SizeIs(1));
}

TEST_P(TaskHistory, AReleasedAssignmentIsTakenOut) {
  const Lease first = start();
  (void)release(first);
  EXPECT_THAT(history_of(first.id), IsEmpty());
  (void)yield(claim("worker-2"));
  (void)release(claim("worker-3"));
  EXPECT_THAT(history_of(first.id),
              ElementsAre(entry(HistoryKind::kAssignment, "worker-2", 2), entry(HistoryKind::kYield, "worker-2", 2)));
}

// ---- Late results ----

TEST_P(TaskHistory, ALateResultIsKeptAsEvidence) {
  const Lease late = start({}, "worker-1");
  (void)lose_leases();
  (void)claim("worker-2");
  const Instant updated = get(late.id).updated_at;
  advance(1s);
  Settlement done = settlement(Event::kComplete, late);
  done.result = R"({"sent":17})";
  EXPECT_EQ(settle(done).verdict, Verdict::kStaleAttempt);

  const Task task = get(late.id);
  EXPECT_THAT(
      task.history.entries(),
      ElementsAre(entry(HistoryKind::kAssignment, "worker-1", 1), entry(HistoryKind::kTimeout, "worker-1", 1),
                  entry(HistoryKind::kAssignment, "worker-2", 2), entry(HistoryKind::kLateResult, "worker-1", 1)));
  EXPECT_EQ(newest_entry_of(late.id).detail, R"({"sent":17})");
  EXPECT_EQ(newest_entry_of(late.id).time, now());
  EXPECT_EQ(task.state, State::kRunning);
  EXPECT_EQ(task.owner, "worker-2");
  EXPECT_EQ(task.result, std::nullopt);
  EXPECT_EQ(task.updated_at, updated);
}

TEST_P(TaskHistory, ALateAbortBringsItsErrors) {
  const Lease late = start();
  (void)lose_leases();
  const Settlement failed = settlement(Event::kAbort, late);
  EXPECT_EQ(settle(failed).verdict, Verdict::kWrongState);
  EXPECT_THAT(newest_entry_of(late.id), entry(HistoryKind::kLateResult, kOwner, 1));
  EXPECT_EQ(newest_entry_of(late.id).detail, to_json(failed.errors));
  EXPECT_THAT(get(late.id).errors, IsEmpty());
  EXPECT_EQ(get(late.id).tries, 1);
}

TEST_P(TaskHistory, AResultAfterACancelIsKept) {
  const Lease lease = start();
  (void)cancel(lease.id);
  Settlement done = settlement(Event::kComplete, lease);
  done.result = "42";
  EXPECT_EQ(settle(done).verdict, Verdict::kCancelled);
  EXPECT_EQ(newest_entry_of(lease.id).kind, HistoryKind::kLateResult);
  EXPECT_EQ(newest_entry_of(lease.id).detail, "42");
}

TEST_P(TaskHistory, AResultAfterAnotherAttemptEndedIsKept) {
  const Lease late = start({}, "worker-1");
  (void)lose_leases();
  (void)complete(claim("worker-2"));
  EXPECT_EQ(complete(late), Verdict::kStaleAttempt);
  EXPECT_THAT(newest_entry_of(late.id), entry(HistoryKind::kLateResult, "worker-1", 1));
  EXPECT_EQ(state_of(late.id), State::kCompleted);
}

TEST_P(TaskHistory, EvidenceIsKeptOnceForEachAttemptAndOwner) {
  Lease late = start({}, "worker-1");
  (void)lose_leases();
  (void)complete(late);
  (void)complete(late);
  (void)abort(late);
  EXPECT_THAT(history_of(late.id), SizeIs(3));

  late.owner = "worker-9";
  (void)complete(late);
  EXPECT_THAT(history_of(late.id), SizeIs(4));
  EXPECT_THAT(newest_entry_of(late.id), entry(HistoryKind::kLateResult, "worker-9", 1));

  Lease second = claim("worker-1");
  (void)lose_leases();
  (void)complete(second);
  EXPECT_THAT(newest_entry_of(late.id), entry(HistoryKind::kLateResult, "worker-1", 2));
}

TEST_P(TaskHistory, EvidenceIsKeptOnceAlsoWithinABatch) {
  const Lease late = start();
  (void)lose_leases();
  const Settlement done = settlement(Event::kComplete, late);
  (void)settle_all({done, done});
  EXPECT_THAT(history_of(late.id), SizeIs(3));
}

TEST_P(TaskHistory, AnAttemptThatNeverBeganLeavesNoEvidence) {
  const TaskId id = submit();
  EXPECT_EQ(complete({{.id = id, .attempt = 1}, kOwner}), Verdict::kWrongState);
  (void)claim();
  EXPECT_EQ(complete({{.id = id, .attempt = 2}, kOwner}), Verdict::kStaleAttempt);
  EXPECT_EQ(complete({{.id = id, .attempt = 0}, kOwner}), Verdict::kStaleAttempt);
  EXPECT_EQ(complete({{.id = id, .attempt = -1}, kOwner}), Verdict::kStaleAttempt);
  EXPECT_THAT(history_of(id), SizeIs(1));
}

TEST_P(TaskHistory, OnlyResultsAreEvidence) {
  const Lease late = start();
  (void)lose_leases();
  (void)heartbeat(late);
  (void)yield(late);
  (void)release(late);
  EXPECT_THAT(history_of(late.id), SizeIs(2));
}

TEST_P(TaskHistory, ARepetitionIsNoEvidence) {
  const Lease lease = start();
  (void)complete(lease);
  (void)complete(lease);
  EXPECT_THAT(history_of(lease.id), SizeIs(1));
}

TEST_P(TaskHistory, AReleaseLeavesTheEvidenceOfOthersAlone) {
  const Lease late = start({}, "worker-1");
  (void)lose_leases();
  const Lease second = claim("worker-2");
  (void)complete(late);
  (void)release(second);
  EXPECT_THAT(history_of(late.id),
              ElementsAre(entry(HistoryKind::kAssignment, "worker-1", 1), entry(HistoryKind::kTimeout, "worker-1", 1),
                          entry(HistoryKind::kLateResult, "worker-1", 1)));
}

TEST_P(TaskHistory, AVeryLongResultIsCut) {
  const Lease late = start();
  (void)lose_leases();
  Settlement done = settlement(Event::kComplete, late);
  done.result = "\"" + std::string(100'000, 'x') + "\"";
  (void)settle(done);
  EXPECT_EQ(newest_entry_of(late.id).detail, history_detail(*done.result));
}

// ---- The limit ----

TEST_P(TaskHistory, KeepsTheFirstAndTheNewestEntries) {
  Lease lease = start();
  for (int attempt = 1; attempt <= 80; ++attempt) {
    ASSERT_EQ(yield(lease), Verdict::kAccepted);
    lease = claim();
  }
  // 81 assignments and 80 yields.
  const Task task = get(lease.id);
  ASSERT_THAT(task.history.entries(), SizeIs(kMaxHistory));
  EXPECT_EQ(task.history.omitted(), 161 - kMaxHistory);
  EXPECT_THAT(task.history.entries().front(), entry(HistoryKind::kAssignment, kOwner, 1));
  EXPECT_THAT(task.history.entries()[kHistoryFirst - 1], entry(HistoryKind::kYield, kOwner, 8));
  EXPECT_THAT(task.history.entries()[kHistoryFirst], entry(HistoryKind::kYield, kOwner, 25));
  EXPECT_THAT(task.history.entries().back(), entry(HistoryKind::kAssignment, kOwner, 81));
}

}  // namespace
}  // namespace horae::testing
