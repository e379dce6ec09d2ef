#include "engine/lifecycle/monitor.h"

#include "tests/engine/engine.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Lets time pass with a monitor that runs when it wants to.
void watch(horae::Monitor& monitor, Duration until, const std::function<void(Duration)>& pass,
           const std::function<MonotonicTime()>& node_now) {
  const MonotonicTime end = node_now() + until;
  while (node_now() < end) {
    const MonotonicTime next = std::min(std::max(monitor.run_once(node_now()), node_now() + 1ms), end);
    pass(next - node_now());
  }
  monitor.run_once(node_now());
}

#define WATCH(monitor, time) \
  watch(                     \
      monitor, time, [&](Duration by) { pass(by); }, [&] { return node_now(); })

TEST_P(MonitorLoop, ReturnsTaskWhenLeaseExpires) {
  horae::Monitor monitor(observed(), log());
  const Lease lease = start();
  WATCH(monitor, kDefaultLease);
  EXPECT_EQ(state_of(lease.id), State::kRunning);  // to the last moment
  WATCH(monitor, 1s);
  const Task task = get(lease.id);
  EXPECT_EQ(task.state, State::kReady);
  EXPECT_EQ(task.tries, 1);
  EXPECT_EQ(task.progress, 0.0);
  EXPECT_EQ(newest_entry_of(lease.id).kind, HistoryKind::kTimeout);
  EXPECT_THAT(ready(), ElementsAre(kQueue));
  EXPECT_THAT(said(), HasSubstr("lease expired"));
}

TEST_P(MonitorLoop, LeavesATaskToAnOwnerThatSendsHeartbeats) {
  horae::Monitor monitor(observed(), log());
  const Lease lease = start();
  for (int i = 0; i < 10; ++i) {
    WATCH(monitor, kDefaultLease / 3);
    ASSERT_EQ(heartbeat(lease), Verdict::kAccepted);
  }
  EXPECT_THAT(ready(), IsEmpty());
  EXPECT_EQ(complete(lease), Verdict::kAccepted);
}

// Workers of the node cannot send heartbeats to it while it stops. The next start finds an outage.
TEST_P(MonitorLoop, ExpiresNothingWhileTheNodeStops) {
  horae::Monitor monitor(observed(), log());
  const Lease lease = start();
  WATCH(monitor, 5s);
  monitor.drain();
  WATCH(monitor, kDefaultLease * 2);
  EXPECT_EQ(state_of(lease.id), State::kRunning);
  horae::Monitor next(observed(), log());
  WATCH(next, 1s);
  EXPECT_EQ(state_of(lease.id), State::kRunning);
  WATCH(next, kDefaultLease + 1s);
  EXPECT_EQ(state_of(lease.id), State::kReady);
}

TEST_P(MonitorLoop, AbortsATaskWithoutAttemptsLeft) {
  horae::Monitor monitor(observed(), log());
  const Lease lease = start({.max_attempts = 1});
  WATCH(monitor, kDefaultLease + 1s);
  EXPECT_EQ(state_of(lease.id), State::kAborted);
  EXPECT_EQ(get(lease.id).errors.at(0).code, "attempts_exhausted");
  EXPECT_THAT(ready(), IsEmpty());
}

TEST_P(MonitorLoop, WritesNoTimeoutForAYieldedTask) {
  horae::Monitor monitor(observed(), log());
  const Lease lease = start();
  (void)yield(lease);
  WATCH(monitor, kDefaultLease * 2);
  EXPECT_EQ(newest_entry_of(lease.id).kind, HistoryKind::kYield);
  EXPECT_EQ(get(lease.id).tries, 0);
}

TEST_P(MonitorLoop, ExpiresNothingAfterAnOutage) {
  horae::Monitor monitor(observed(), log());
  const Lease lease = start();
  WATCH(monitor, 5s);
  // The store is away for 30 s: no heartbeat and no monitor reaches it.
  faulty().fault = FaultyTasks::Fault::kBefore;
  WATCH(monitor, 30s);
  faulty().fault = FaultyTasks::Fault::kNone;
  monitor.run_once(node_now());
  EXPECT_EQ(state_of(lease.id), State::kRunning);
  EXPECT_THAT(said(), HasSubstr("extended leases"));
  // The worker comes back within its lease.
  WATCH(monitor, kDefaultLease / 2);
  EXPECT_EQ(heartbeat(lease), Verdict::kAccepted);
  WATCH(monitor, kDefaultLease / 2);
  EXPECT_EQ(complete(lease), Verdict::kAccepted);
  EXPECT_EQ(get(lease.id).attempt, 1);
}

// The worker never falls silent: it sends a heartbeat every third of its lease, and again at once when the store is back.
TEST_P(MonitorLoop, AShortOutageExpiresNoLeaseWhateverItsLength) {
  for (const Duration length : {Duration(100ms), Duration(1s), Duration(3s)}) {
    for (const Duration outage : {length / 4, length * 2 / 5, length * 4 / 5, length * 7 / 5}) {
      horae::Monitor monitor(observed(), log());
      (void)submit();
      ClaimWish with_length = wish();
      with_length.lease = length;
      const Lease lease = claim(with_length).at(0);
      for (int i = 0; i < 4; ++i) {
        WATCH(monitor, length / 3);
        ASSERT_EQ(heartbeat(lease), Verdict::kAccepted);
      }
      WATCH(monitor, length / 3 - 1ms);  // the next heartbeat is about to come
      faulty().fault = FaultyTasks::Fault::kBefore;
      pass(outage);
      faulty().fault = FaultyTasks::Fault::kNone;
      monitor.run_once(node_now());
      WATCH(monitor, length / 10);
      EXPECT_EQ(heartbeat(lease), Verdict::kAccepted);
      EXPECT_EQ(complete(lease), Verdict::kAccepted);
    }
  }
}

// Each pass takes longer than a third of the lease, and so is always late.
TEST_P(MonitorLoop, TakesTheLeaseOfADeadWorkerOnASlowStore) {
  horae::Monitor monitor(observed(), log());
  (void)submit();
  ClaimWish with_length = wish();
  with_length.lease = 1s;
  const Lease lease = claim(with_length).at(0);
  for (int i = 0; i < 12; ++i) {
    monitor.run_once(node_now());
    pass(500ms);
  }
  EXPECT_EQ(state_of(lease.id), State::kReady);
}

TEST_P(MonitorLoop, ComesOftenEnoughToKeepAShortLeaseInSight) {
  horae::Monitor monitor(observed(), log());
  (void)submit();
  ClaimWish with_length = wish();
  with_length.lease = 1s;
  (void)claim(with_length);
  EXPECT_EQ(monitor.run_once(node_now()), node_now() + 250ms);
}

TEST_P(MonitorLoop, ExtendsLeasesFirstWhenAllNodesWereDown) {
  const Lease lease = start();
  {
    horae::Monitor before(observed(), log());
    WATCH(before, 1s);
  }
  pass(1h);
  horae::Monitor after(observed(), log());
  after.run_once(node_now());
  EXPECT_EQ(state_of(lease.id), State::kRunning);
  EXPECT_EQ(get(lease.id).lease_expires, now() + kDefaultLease);
}

TEST_P(MonitorLoop, ExpiresNoLiveLeaseWhenTheClockJumps) {
  for (const Duration jump : {Duration(1h), Duration(-1h), Duration(2s)}) {
    horae::Monitor monitor(observed(), log());
    const Lease lease = start();
    WATCH(monitor, 3s);
    step_clock(jump);
    monitor.run_once(node_now());
    EXPECT_EQ(state_of(lease.id), State::kRunning);
    EXPECT_EQ(get(lease.id).lease_expires, now() + kDefaultLease);
    WATCH(monitor, 3s);
    EXPECT_EQ(complete(lease), Verdict::kAccepted);
  }
}

TEST_P(MonitorLoop, ExpiresALeaseOnceOnTwoNodes) {
  horae::Monitor one(observed(), log());
  horae::Monitor other(observed(), log());
  (void)submit_many(4);
  (void)claim_up_to(4);
  for (int second = 0; second <= 11; ++second) {
    together(2, [&](int node) { (node == 0 ? one : other).run_once(node_now()); });
    pass(1s);
  }
  one.run_once(node_now());
  for (const Lease& lease : claim_up_to(10)) {
    EXPECT_EQ(lease.attempt, 2);
    EXPECT_EQ(get(lease.id).tries, 1);
  }
  EXPECT_EQ(queue().running, 4);
}

TEST_P(MonitorLoop, RunsAgainAtOnceWhileMoreIsOverdue) {
  horae::Monitor monitor(observed(), log(), {.batch = 2});
  (void)submit_many(3);
  (void)claim_up_to(3);
  WATCH(monitor, kDefaultLease);
  pass(1ms);
  EXPECT_EQ(monitor.run_once(node_now()), node_now());
  EXPECT_GT(monitor.run_once(node_now()), node_now());
  EXPECT_EQ(queue().ready, 3);
}

TEST_P(MonitorLoop, RestsWhenNothingRuns) {
  horae::Monitor monitor(observed(), log());
  EXPECT_EQ(monitor.run_once(node_now()), node_now() + 1s);
  EXPECT_EQ(look().stamp, std::nullopt);
}

TEST_P(MonitorLoop, SleepsWithoutLeasesUntilATickReportsOne) {
  horae::Monitor monitor(observed(), log(), {.idle_poll = 1h});
  EXPECT_EQ(monitor.run_once(node_now()), node_now() + 1h);
  EXPECT_FALSE(monitor.on_tick({.now = now()}, node_now()));
  EXPECT_TRUE(monitor.on_tick({.now = now(), .has_leases = true}, node_now()));
  const Lease lease = start();
  EXPECT_LE(monitor.run_once(node_now()), node_now() + 1s) << "the stamp must not get old";
  EXPECT_FALSE(monitor.on_tick({.now = now(), .has_leases = true}, node_now())) << "it is awake";
  complete(lease);
  EXPECT_EQ(monitor.run_once(node_now()), node_now() + 1h);
}

TEST_P(MonitorLoop, TakesTheFirstLeaseAfterALongSleepForNoOutageAfterATick) {
  horae::Monitor monitor(observed(), log(), {.idle_poll = 1h});
  complete(start());
  extend_leases();  // there is a stamp
  monitor.run_once(node_now());
  pass(10min);
  step_clock(1h);  // nothing is leased: no harm is done
  EXPECT_FALSE(monitor.on_tick({.now = now()}, node_now()));
  pass(1s);
  const Lease lease = start();
  EXPECT_TRUE(monitor.on_tick({.now = now(), .has_leases = true}, node_now()));
  WATCH(monitor, kDefaultLease + 2s);
  EXPECT_EQ(state_of(lease.id), State::kReady);
  EXPECT_THAT(said(), Not(HasSubstr("extended")));
}

}  // namespace
}  // namespace horae::testing
