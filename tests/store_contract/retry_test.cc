// Aborted attempts that are tried again, and what the budget counts.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr RetryPolicy kFixed{.kind = RetryPolicy::Kind::kFixed, .delay = 5s};
constexpr RetryPolicy kDoubling{.kind = RetryPolicy::Kind::kExponential, .delay = 1s, .factor = 2.0, .cap = 5s};

TEST_P(Retry, AnAbortIsTriedAgainAfterTheDelay) {
  const Lease lease = start({.retry = kFixed});
  advance(2s);
  const SettleOutcome outcome = settle(settlement(Event::kAbort, lease));
  EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
  EXPECT_EQ(outcome.state, State::kScheduled);

  const Task task = get(lease.id);
  EXPECT_EQ(task.state, State::kScheduled);
  EXPECT_EQ(task.run_at, now() + 5s);
  EXPECT_EQ(task.updated_at, now());
  EXPECT_EQ(task.tries, 1);
  EXPECT_EQ(task.attempt, 1);
  EXPECT_EQ(task.owner, std::nullopt);
  EXPECT_EQ(task.lease_expires, std::nullopt);

  EXPECT_THAT(claim_up_to(10), IsEmpty());
  advance(5s);
  EXPECT_EQ(promote().promoted, 1U);
  EXPECT_EQ(claim().attempt, 2);
}

TEST_P(Retry, KeepsTheCheckpointAndSetsTheProgressBack) {
  const Lease lease = start({.retry = kFixed});
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.progress = 0.5;
  beat.checkpoint = "[5]";
  (void)settle(beat);
  (void)abort(lease);
  EXPECT_EQ(get(lease.id).progress, 0.0);
  EXPECT_EQ(get(lease.id).checkpoint, "[5]");
}

TEST_P(Retry, TheErrorsOfARetriedAttemptGoToTheHistory) {
  const Lease lease = start({.retry = kFixed});
  Settlement failed = settlement(Event::kAbort, lease);
  failed.errors = errors_of("disk_full");
  (void)settle(failed);
  const Task task = get(lease.id);
  EXPECT_THAT(task.errors, IsEmpty());
  EXPECT_THAT(task.history.entries(),
              ElementsAre(entry(HistoryKind::kAssignment, kOwner, 1), entry(HistoryKind::kRetry, kOwner, 1)));
  EXPECT_EQ(newest_entry_of(lease.id).detail, to_json(failed.errors));
  EXPECT_EQ(newest_entry_of(lease.id).time, now());
}

TEST_P(Retry, LongErrorsAreCutInTheHistory) {
  const Lease lease = start({.retry = kFixed});
  Settlement failed = settlement(Event::kAbort, lease);
  failed.errors = {{.code = "long", .description = std::string(kMaxErrorBytes - 100, 'x')}};
  (void)settle(failed);
  EXPECT_EQ(newest_entry_of(lease.id).detail, history_detail(to_json(failed.errors)));
}

TEST_P(Retry, DelaysGrowUpToTheirCap) {
  Lease lease = start({.retry = kDoubling});
  for (const Duration delay : {Duration(1s), Duration(2s), Duration(4s), Duration(5s), Duration(5s)}) {
    (void)abort(lease);
    EXPECT_EQ(get(lease.id).run_at - now(), delay);
    advance(delay);
    (void)promote();
    lease = claim();
  }
}

TEST_P(Retry, TheChanceThatCameWithTheAbortDecidesTheJitter) {
  const Lease lease = start({.retry = {.kind = RetryPolicy::Kind::kFixed, .delay = 8s, .jitter = 0.5}});
  Settlement failed = settlement(Event::kAbort, lease);
  failed.chance = 0.5;
  (void)settle(failed);
  EXPECT_EQ(get(lease.id).run_at, now() + 6s);
}

TEST_P(Retry, WithoutADelayTheTaskIsDueAtOnce) {
  const Lease lease = start({.retry = {.kind = RetryPolicy::Kind::kFixed, .delay = 0s}});
  (void)abort(lease);
  EXPECT_EQ(state_of(lease.id), State::kScheduled);
  EXPECT_EQ(promote().promoted, 1U);
  EXPECT_EQ(claim().id, lease.id);
}

TEST_P(Retry, EndsWhenTheTriesAreUsedUp) {
  Lease lease = start({.max_attempts = 3, .retry = kFixed});
  for (int tries = 1; tries <= 2; ++tries) {
    EXPECT_EQ(settle(settlement(Event::kAbort, lease)).state, State::kScheduled);
    EXPECT_EQ(get(lease.id).tries, tries);
    advance(5s);
    (void)promote();
    lease = claim();
  }
  Settlement failed = settlement(Event::kAbort, lease);
  failed.errors = errors_of("last");
  EXPECT_EQ(settle(failed).state, State::kAborted);
  EXPECT_EQ(get(lease.id).errors, failed.errors);
}

TEST_P(Retry, ExpiriesAndRetriesShareOneBudget) {
  Lease lease = start({.max_attempts = 3, .retry = kFixed});
  (void)lose_leases();
  lease = claim();
  EXPECT_EQ(settle(settlement(Event::kAbort, lease)).state, State::kScheduled);
  EXPECT_EQ(get(lease.id).tries, 2);
  advance(5s);
  (void)promote();
  (void)claim();
  EXPECT_EQ(lose_leases().at(0).state, State::kAborted);
}

TEST_P(Retry, YieldsAndReleasesCostNothing) {
  Lease lease = start({.max_attempts = 1, .retry = kFixed});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(i % 2 == 0 ? yield(lease) : release(lease), Verdict::kAccepted);
    EXPECT_EQ(get(lease.id).tries, 0);
    lease = claim();
  }
  EXPECT_EQ(lease.attempt, 6);
  EXPECT_EQ(settle(settlement(Event::kAbort, lease)).state, State::kAborted);
}

TEST_P(Retry, WithoutAPolicyOneAbortIsTheEndWhateverTheBudget) {
  const Lease lease = start({.max_attempts = 10});
  EXPECT_EQ(settle(settlement(Event::kAbort, lease)).state, State::kAborted);
}

TEST_P(Retry, ABudgetCountsExpiriesAlsoWithoutAPolicy) {
  (void)start({.max_attempts = 1});
  EXPECT_EQ(lose_leases().at(0).state, State::kAborted);
}

TEST_P(Retry, ARepeatedAbortIsRecognisedAndCountedOnce) {
  const Lease lease = start({.retry = kFixed});
  (void)abort(lease);
  const Task before = get(lease.id);
  advance(1s);
  EXPECT_EQ(abort(lease), Verdict::kRepeated);
  EXPECT_EQ(get(lease.id), before);
  advance(4s);
  (void)promote();
  (void)claim("worker-2");
  EXPECT_EQ(abort(lease), Verdict::kRepeated);
  EXPECT_EQ(get(lease.id).tries, 1);
}

TEST_P(Retry, ARetriedTaskGetsANewRank) {
  const Lease lease = start({.retry = kFixed});
  (void)abort(lease);
  advance(5s);
  const TaskId rival = submit({.priority = 51});
  (void)promote();
  EXPECT_THAT(ids_of(claim_up_to(2)), ElementsAre(rival, lease.id));
}

TEST_P(Retry, ASuccessAfterARetryShowsNoErrors) {
  const Lease lease = start({.retry = kFixed});
  (void)abort(lease);
  advance(5s);
  (void)promote();
  (void)complete(claim());
  const Task task = get(lease.id);
  EXPECT_EQ(task.state, State::kCompleted);
  EXPECT_THAT(task.errors, IsEmpty());
  EXPECT_EQ(task.tries, 1);
}

}  // namespace
}  // namespace horae::testing
