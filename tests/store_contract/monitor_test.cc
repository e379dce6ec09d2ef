// Leases run out, and an outage is not the worker's fault.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = ExpireOutcome::Kind;

TEST_P(Monitor, SeesNothingInAnEmptyStore) {
  const Watch watch = look();
  EXPECT_EQ(watch.stamp, std::nullopt);
  EXPECT_FALSE(watch.has_leases);
  EXPECT_EQ(watch.next_expiry_in, std::nullopt);
}

TEST_P(Monitor, TheClockOfTheStoreIsMovedByTheTestAlone) {
  const Instant start = look().now;
  EXPECT_EQ(look().now, start);
  EXPECT_EQ(std::chrono::floor<std::chrono::seconds>(start), start);
  advance(1h + 1us);
  EXPECT_EQ(look().now, start + 1h + 1us);
  step_clock(-2h);
  EXPECT_EQ(look().now, start - 1h + 1us);
}

TEST_P(Monitor, SeesTheFirstLeaseToEnd) {
  (void)submit_many(2);
  ClaimWish long_one = wish();
  long_one.lease = 1h;
  const auto leases = claim(long_one);
  EXPECT_EQ(look().next_expiry_in, Duration(1h));
  const Lease short_one = claim();
  EXPECT_TRUE(look().has_leases);
  EXPECT_EQ(look().next_expiry_in, Duration(10s));
  advance(4s);
  EXPECT_EQ(look().next_expiry_in, Duration(6s));
  advance(10s);
  EXPECT_EQ(look().next_expiry_in, Duration::zero());
  (void)complete(short_one);
  (void)complete(leases[0]);
  EXPECT_FALSE(look().has_leases);
  EXPECT_EQ(look().next_expiry_in, std::nullopt);
}

TEST_P(Monitor, ALookChangesNothing) {
  const Lease lease = start();
  const Task before = get(lease.id);
  (void)look();
  EXPECT_EQ(look().stamp, std::nullopt);
  EXPECT_EQ(get(lease.id), before);
}

// ---- Expiry ----

TEST_P(Monitor, ReturnsATaskWhenItsLeaseHasExpired) {
  const Lease lease = start({}, "worker-3");
  const auto expired = lose_leases();
  ASSERT_EQ(expired.size(), 1U);
  EXPECT_EQ(expired[0], (ExpiredLease{.id = lease.id, .queue = kQueue, .owner = "worker-3", .attempt = 1}));
  const Task task = get(lease.id);
  EXPECT_EQ(task.state, State::kReady);
  EXPECT_EQ(task.tries, 1);
  EXPECT_EQ(task.attempt, 1);
  EXPECT_EQ(task.owner, std::nullopt);
  EXPECT_EQ(task.lease_expires, std::nullopt);
  EXPECT_EQ(task.updated_at, now());
  EXPECT_EQ(claim("worker-4").attempt, 2);
}

TEST_P(Monitor, ALeaseIsGoodUpToItsLastMoment) {
  const Lease lease = start();
  extend_leases();
  advance(10s);  // lease_expires == now
  EXPECT_THAT(expire().expired, IsEmpty());
  EXPECT_EQ(state_of(lease.id), State::kRunning);
  advance(1us);
  EXPECT_EQ(expire().expired.size(), 1U);
}

TEST_P(Monitor, SetsTheProgressBackAndKeepsTheCheckpoint) {
  const Lease lease = start();
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.progress = 0.5;
  beat.checkpoint = R"({"page":5})";
  (void)settle(beat);
  (void)lose_leases();
  EXPECT_EQ(get(lease.id).progress, 0.0);
  EXPECT_EQ(get(lease.id).checkpoint, R"({"page":5})");
  EXPECT_EQ(claim().checkpoint, R"({"page":5})");
}

TEST_P(Monitor, LeavesLeasesAloneThatAreBeaten) {
  (void)submit_many(2);
  const auto leases = claim_up_to(2);
  extend_leases();
  for (int i = 0; i < 10; ++i) {
    advance(6s);
    (void)heartbeat(leases[0]);
    (void)expire();
  }
  EXPECT_EQ(state_of(leases[0].id), State::kRunning);
  EXPECT_EQ(get(leases[0].id).attempt, 1);
  EXPECT_EQ(state_of(leases[1].id), State::kReady);
}

TEST_P(Monitor, TakesTheMostOverdueFirst) {
  (void)submit_many(3);
  std::vector<TaskId> by_end(3);
  for (const std::size_t place : {2U, 0U, 1U}) {
    ClaimWish with_length = wish();
    with_length.lease = std::chrono::seconds(10 + place);
    by_end[place] = claim(with_length).at(0).id;
  }
  extend_leases();
  advance(1h);
  EXPECT_EQ(expire(1).expired.at(0).id, by_end[0]);
  const auto rest = expire(5).expired;
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].id, by_end[1]);
  EXPECT_EQ(rest[1].id, by_end[2]);
}

TEST_P(Monitor, LeavesWhatIsBeyondTheMaximumForTheNextPass) {
  (void)submit_many(5);
  (void)claim_up_to(5);
  extend_leases();
  advance(11s);
  EXPECT_EQ(expire(3).expired.size(), 3U);
  EXPECT_EQ(look().next_expiry_in, Duration::zero());
  EXPECT_EQ(expire(3).expired.size(), 2U);
  EXPECT_FALSE(look().has_leases);
}

TEST_P(Monitor, AbortsATaskThatHasUsedUpItsAttempts) {
  const Lease first = start({.max_attempts = 2});
  EXPECT_EQ(lose_leases().at(0).state, State::kReady);
  (void)claim("worker-2");
  const auto expired = lose_leases();
  EXPECT_EQ(expired.at(0).state, State::kAborted);
  EXPECT_EQ(expired.at(0).attempt, 2);

  const Task task = get(first.id);
  EXPECT_EQ(task.state, State::kAborted);
  EXPECT_EQ(task.tries, 2);
  EXPECT_EQ(task.progress, 0.0);
  EXPECT_EQ(task.owner, "worker-2");
  EXPECT_EQ(task.updated_at, now());
  ASSERT_EQ(task.errors.size(), 1U);
  EXPECT_EQ(task.errors[0].code, "attempts_exhausted");
  EXPECT_THAT(task.history.entries(),
              ElementsAre(entry(HistoryKind::kAssignment, kOwner, 1), entry(HistoryKind::kTimeout, kOwner, 1),
                          entry(HistoryKind::kAssignment, "worker-2", 2), entry(HistoryKind::kTimeout, "worker-2", 2)));
  EXPECT_THAT(claim_up_to(10), IsEmpty());
}

TEST_P(Monitor, WithoutMaxAttemptsATaskComesBackForEver) {
  Lease lease = start();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(lose_leases().size(), 1U);
    lease = claim();
  }
  EXPECT_EQ(lease.attempt, 21);
  EXPECT_EQ(get(lease.id).tries, 20);
}

// ---- The stamp ----

TEST_P(Monitor, StampsWithEachPassWhileThereAreLeases) {
  (void)start();
  extend_leases();
  EXPECT_EQ(look().stamp, now());
  advance(1s);
  EXPECT_EQ(expire().kind, Kind::kDone);
  EXPECT_EQ(look().stamp, now());
}

TEST_P(Monitor, WithoutLeasesNothingHappensAlsoNoStamp) {
  (void)submit();
  EXPECT_EQ(expire().kind, Kind::kDone);
  EXPECT_EQ(look().stamp, std::nullopt);
  (void)complete(claim());
  advance(1h);
  EXPECT_EQ(expire().kind, Kind::kDone);
  EXPECT_EQ(look().stamp, std::nullopt);
}

TEST_P(Monitor, ExpiresNothingWithoutAStamp) {
  const Lease lease = start();
  advance(1h);
  const auto outcome = value_of(tasks().expire_leases({.seen = std::nullopt, .slack = 24h}));
  EXPECT_EQ(outcome.kind, Kind::kNoStamp);
  EXPECT_THAT(outcome.expired, IsEmpty());
  EXPECT_EQ(look().stamp, std::nullopt);
  EXPECT_EQ(state_of(lease.id), State::kRunning);
}

TEST_P(Monitor, ExtendsALeaseThatWasOutOfSightForMoreThanAThirdOfItsLength) {
  ClaimWish nine = wish();
  nine.lease = 9s;
  (void)submit();
  const Lease lease = claim(nine).at(0);
  extend_leases();
  advance(3s + 1us);
  const auto outcome = value_of(tasks().expire_leases({.seen = look().stamp}));
  EXPECT_EQ(outcome.kind, Kind::kDone);
  EXPECT_TRUE(outcome.extended);
  EXPECT_EQ(get(lease.id).lease_expires, now() + 9s);
  EXPECT_EQ(look().stamp, now());
}

TEST_P(Monitor, LeavesALeaseAloneThatWasOutOfSightForAThirdOfItsLength) {
  ClaimWish nine = wish();
  nine.lease = 9s;
  (void)submit();
  const Lease lease = claim(nine).at(0);
  extend_leases();
  advance(3s);
  EXPECT_FALSE(value_of(tasks().expire_leases({.seen = look().stamp})).extended);
  EXPECT_EQ(get(lease.id).lease_expires, now() + 6s);
}

// An outage that costs a long lease nothing may have stopped all heartbeats of a short one.
TEST_P(Monitor, ExtendsTheShortLeasesOfAnOutageAndExpiresWhatIsOverdueAmongTheLongOnes) {
  (void)submit_many(3);
  const auto with = [&](Duration length) {
    ClaimWish each = wish();
    each.lease = length;
    return claim(each).at(0);
  };
  const Lease dead = with(10s);
  extend_leases();
  for (int i = 0; i < 3; ++i) {
    advance(3s);
    EXPECT_FALSE(value_of(tasks().expire_leases({.seen = look().stamp})).extended);
  }
  const Lease tiny = with(100ms);
  const Lease brief = with(2s);
  const auto stamp = look().stamp;
  advance(1200ms);
  const auto outcome = value_of(tasks().expire_leases({.seen = stamp}));
  EXPECT_TRUE(outcome.extended);
  ASSERT_EQ(outcome.expired.size(), 1U);
  EXPECT_EQ(outcome.expired[0].id, dead.id);
  EXPECT_EQ(get(tiny.id).lease_expires, now() + 100ms);
  EXPECT_EQ(get(brief.id).lease_expires, now() + 2s);
}

// What was renewed since the last stamp shows that the store was there.
TEST_P(Monitor, ALeaseIsOutOfSightOnlySinceItWasRenewed) {
  const Lease lease = start();
  extend_leases();
  advance(4s);
  (void)heartbeat(lease);
  const auto expires = get(lease.id).lease_expires;
  advance(3s);
  EXPECT_FALSE(value_of(tasks().expire_leases({.seen = look().stamp})).extended);
  EXPECT_EQ(get(lease.id).lease_expires, expires);
}

TEST_P(Monitor, WhatThePassBeforeLeftOverIsNotExtended) {
  (void)submit_many(3);
  (void)claim_up_to(3);
  extend_leases();
  advance(11s);
  EXPECT_EQ(expire(1).expired.size(), 1U);
  advance(5s);
  const auto outcome = value_of(tasks().expire_leases({.seen = look().stamp}));
  EXPECT_FALSE(outcome.extended);
  EXPECT_EQ(outcome.expired.size(), 2U);
}

TEST_P(Monitor, TheSlackLengthensTheTimeThatALeaseMayBeOutOfSight) {
  ClaimWish nine = wish();
  nine.lease = 9s;
  (void)submit();
  (void)claim(nine);
  extend_leases();
  advance(10s);
  EXPECT_EQ(value_of(tasks().expire_leases({.seen = look().stamp, .slack = 7s})).expired.size(), 1U);
  (void)claim(nine);
  advance(10s + 1us);
  EXPECT_TRUE(value_of(tasks().expire_leases({.seen = look().stamp, .slack = 7s})).extended);
}

TEST_P(Monitor, ExpiresNothingIfAnotherMonitorStampedSinceTheLook) {
  const Lease lease = start();
  extend_leases();
  const auto seen = look().stamp;
  advance(2s);
  (void)expire();  // the other one
  advance(9s);
  const auto outcome = value_of(tasks().expire_leases({.seen = seen, .slack = 24h}));
  EXPECT_EQ(outcome.kind, Kind::kStampMoved);
  EXPECT_THAT(outcome.expired, IsEmpty());
  EXPECT_EQ(state_of(lease.id), State::kRunning);
  EXPECT_EQ(look().stamp, now() - 9s);
}

// Reading: the stamp is compared first, and its age only if it is the one that was seen.
TEST_P(Monitor, AStampThatHasMovedAndGrownOldHasMoved) {
  (void)start();
  extend_leases();
  advance(1h);
  EXPECT_EQ(value_of(tasks().expire_leases({.seen = now()})).kind, Kind::kStampMoved);
}

TEST_P(Monitor, AFirstStampCountsAsMoved) {
  (void)start();
  extend_leases();
  EXPECT_EQ(value_of(tasks().expire_leases({.seen = std::nullopt})).kind, Kind::kStampMoved);
}

TEST_P(Monitor, ASeenStampThatWasNeverMadeHasMoved) {
  (void)start();
  EXPECT_EQ(value_of(tasks().expire_leases({.seen = now()})).kind, Kind::kStampMoved);
  EXPECT_FALSE(value_of(tasks().extend_leases(now())));
}

TEST_P(Monitor, AfterAnOutageEveryLeaseStartsAnew) {
  (void)submit_many(2);
  const Lease plain = claim();
  ClaimWish with_length = wish();
  with_length.lease = 1min;
  const Lease longer = claim(with_length).at(0);
  advance(1h);
  extend_leases();
  EXPECT_EQ(get(plain.id).lease_expires, now() + 10s);
  EXPECT_EQ(get(longer.id).lease_expires, now() + 1min);
  EXPECT_EQ(look().stamp, now());
  EXPECT_THAT(expire().expired, IsEmpty());
  EXPECT_EQ(heartbeat(plain), Verdict::kAccepted);
  EXPECT_EQ(heartbeat(longer), Verdict::kAccepted);
}

TEST_P(Monitor, TheLengthOfALeaseIsWhatItsLastHeartbeatAskedFor) {
  const Lease lease = start();
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.lease = 1min;
  (void)settle(beat);
  advance(1h);
  extend_leases();
  EXPECT_EQ(get(lease.id).lease_expires, now() + 1min);
}

TEST_P(Monitor, LeasesAreExtendedByOneMonitorOnly) {
  const Lease lease = start();
  advance(1h);
  const auto seen = look().stamp;
  EXPECT_TRUE(value_of(tasks().extend_leases(seen)));
  const auto expires = get(lease.id).lease_expires;
  advance(1s);
  EXPECT_FALSE(value_of(tasks().extend_leases(seen)));
  EXPECT_EQ(get(lease.id).lease_expires, expires);
  EXPECT_EQ(look().stamp, now() - 1s);
}

// A store that was away for 30 s under 60 s tasks produces no second attempt.
TEST_P(Monitor, AnOutageLongerThanTheLeaseMakesNoSecondAttempt) {
  const Lease lease = start();
  extend_leases();
  advance(2s);
  (void)expire();
  advance(30s);  // no heartbeat, no monitor
  ExpireWish pass{.seen = look().stamp};
  ASSERT_TRUE(value_of(tasks().expire_leases(pass)).extended);
  EXPECT_EQ(get(lease.id).lease_expires, now() + 10s);
  advance(3s);
  pass.seen = look().stamp;
  EXPECT_THAT(value_of(tasks().expire_leases(pass)).expired, IsEmpty());
  EXPECT_EQ(heartbeat(lease), Verdict::kAccepted);
  EXPECT_EQ(complete(lease), Verdict::kAccepted);
}

TEST_P(Monitor, AClockThatWasSetBackTakesNothingOutOfSight) {
  const Lease lease = start();
  extend_leases();
  step_clock(-1h);
  EXPECT_FALSE(value_of(tasks().expire_leases({.seen = look().stamp})).extended);
  EXPECT_EQ(state_of(lease.id), State::kRunning);
  EXPECT_EQ(look().stamp, now());
}

}  // namespace
}  // namespace horae::testing
