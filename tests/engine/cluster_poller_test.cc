#include "engine/cluster/cluster_poller.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/claims/claimer.h"
#include "engine/lifecycle/monitor.h"
#include "engine/lifecycle/promoter.h"
#include "tests/engine/claimer.h"
#include "tests/engine/engine.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Duration kNever = 1h;  // longer than any test

// The loops that a poller wakes, wired as Engine does it, with polls that come too late for any test.
class Watchers final : private ChangeObserver {
 public:
  Watchers(TaskStore& tasks, ClusterStore& cluster, const Logger& log, ClusterPollerOptions options = {})
      : tasks_(tasks, no_meter(), clock_, *this),
        claimer(tasks_, log, [this] { wake(claimer); }, {.poll = kNever}),
        promoter(tasks_, log, {.poll = kNever}),
        monitor(tasks_, log, {.idle_poll = kNever}),
        poller(cluster, log, {.id = "worker-1", .address = "", .version = "1", .started_at = {}, .last_seen = {}},
               signals(), options) {}

  // Runs the loops that want to run at this time, or were woken.
  void run(MonotonicTime now) {
    for (Loop* loop : std::vector<Loop*>{&poller, &claimer, &promoter, &monitor, &claimer}) {
      if (woken_.erase(loop) > 0 || now >= next_[loop]) next_[loop] = loop->run_once(now);
      (void)claimer.run_rounds();
    }
  }

  MonotonicTime next() const {
    return std::ranges::min_element(next_, {}, [](const auto& each) { return each.second; })->second;
  }

  bool is_deaf = false;
  std::vector<Tick> ticks;

 private:
  void on_changes(std::span<const Change> changes) override { claimer.on_wake_ups(wake_ups_of(changes)); }
  void wake(Loop& loop) { woken_.insert(&loop); }

  ClusterPollerSignals signals() {
    return {.awaited = [this] { return claimer.take_awaited(); },
            .is_deaf = [this] { return is_deaf; },
            .due = [this] { wake(promoter); },
            .ready = [this](const std::vector<std::string>& queues) { claimer.on_ready(queues); },
            .ticked =
                [this](const Tick& tick, MonotonicTime now) {
                  ticks.push_back(tick);
                  if (monitor.on_tick(tick, now)) wake(monitor);
                }};
  }

  std::set<Loop*> woken_;
  std::map<Loop*, MonotonicTime> next_;
  const ManualClock clock_;
  ObservedTasks tasks_;

 public:
  TestClaimer claimer;
  Promoter promoter;
  horae::Monitor monitor;
  ClusterPoller poller;
};

#define LIVE(watchers, time)                                                                                    \
  for (const MonotonicTime end = node_now() + (time); node_now() < end;) {                                      \
    (watchers).run(node_now());                                                                                 \
    pass(std::clamp<Duration>((watchers).next() - node_now(), 1ms, std::max<Duration>(end - node_now(), 1ms))); \
  }

// A worker that always takes its tasks.
Claimer::Deliver into(std::vector<LeasedTask>& taken) {
  return [&taken](Result<std::vector<LeasedTask>> answer) {
    if (answer.ok()) taken = std::move(*answer);
    return true;
  };
}

TEST_P(ClusterPollerLoop, SendsOneQueryASecondWhileIdle) {
  Watchers watchers(faulty(), cluster(), log());
  std::vector<LeasedTask> taken;
  watchers.claimer.wait(wish(), node_now() + kNever, into(taken));
  LIVE(watchers, 1s);  // each loop has looked once
  const int before = faulty().calls;
  watchers.ticks.clear();
  LIVE(watchers, 10min);
  EXPECT_EQ(faulty().calls, before);
  EXPECT_LE(watchers.ticks.size(), 600U);
  EXPECT_GE(watchers.ticks.size(), 590U);
}

TEST_P(ClusterPollerLoop, WakesTheClaimerForTasksThatAnotherNodeMadeReady) {
  Watchers watchers(faulty(), cluster(), log());
  std::vector<LeasedTask> taken;
  watchers.claimer.wait(wish(), node_now() + kNever, into(taken));
  LIVE(watchers, 10s);
  const TaskId id = submit();
  LIVE(watchers, 1100ms);
  EXPECT_THAT(ids_of(taken), ElementsAre(id));
}

TEST_P(ClusterPollerLoop, WakesThePromoterForTasksThatAnotherNodeScheduled) {
  Watchers watchers(faulty(), cluster(), log());
  LIVE(watchers, 10s);
  const TaskId later = submit({.run_at = now() + 2500ms});
  const TaskId soon = submit({.run_at = now() + 1500ms});
  LIVE(watchers, 1550ms);
  EXPECT_EQ(state_of(soon), State::kReady);
  EXPECT_EQ(state_of(later), State::kScheduled);
  LIVE(watchers, 1s);
  EXPECT_EQ(state_of(later), State::kReady);
}

TEST_P(ClusterPollerLoop, WakesTheMonitorForLeasesOfAnotherNode) {
  Watchers watchers(faulty(), cluster(), log());
  LIVE(watchers, 2min);
  const Lease lease = start();
  LIVE(watchers, kDefaultLease + 2s);
  EXPECT_EQ(get(lease.id).tries, 1);
  EXPECT_THAT(said(), HasSubstr("lease expired"));
}

TEST_P(ClusterPollerLoop, KeepsTheStampFreshWhileThereAreLeases) {
  Watchers watchers(faulty(), cluster(), log());
  LIVE(watchers, 2min);
  const Lease lease = start();
  LIVE(watchers, 1500ms);
  for (int i = 0; i < 20; ++i) {
    LIVE(watchers, 700ms);
    const Watch seen = look();
    ASSERT_TRUE(seen.stamp);
    EXPECT_LE(seen.now - *seen.stamp, 1100ms);
    heartbeat(lease);
  }
  EXPECT_EQ(state_of(lease.id), State::kRunning);
}

TEST_P(ClusterPollerLoop, PollsMoreOftenWhileDeaf) {
  Watchers watchers(faulty(), cluster(), log());
  watchers.is_deaf = true;
  LIVE(watchers, 10s);
  EXPECT_GE(watchers.ticks.size(), 90U);
  watchers.is_deaf = false;
  LIVE(watchers, 1s);
  watchers.ticks.clear();
  LIVE(watchers, 10s);
  EXPECT_LE(watchers.ticks.size(), 11U);
}

TEST_P(ClusterPollerLoop, AnnouncesTheNodeAndItsAwaitedQueues) {
  Watchers watchers(faulty(), cluster(), log());
  std::vector<LeasedTask> taken;
  watchers.claimer.wait(wish(1, kOwner, {"mail"}), node_now() + kNever, into(taken));
  watchers.poller.set_address("127.0.0.1:3369");
  watchers.poller.set_wants_events(true);
  watchers.poller.run_once(node_now());
  const auto nodes = value_of(cluster().nodes());
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].address, "127.0.0.1:3369");
  EXPECT_TRUE(value_of(cluster().last_awaited("mail")));
  EXPECT_TRUE(value_of(cluster().tick({.self = {.id = "worker-2", .address = "", .version = ""}})).peers_want_events);
}

TEST_P(ClusterPollerLoop, ReportsPeers) {
  Watchers watchers(faulty(), cluster(), log());
  (void)value_of(cluster().tick({.self = {.id = "worker-2", .address = "", .version = ""}, .wants_events = true}));
  watchers.poller.run_once(node_now());
  ASSERT_EQ(watchers.ticks.size(), 1U);
  EXPECT_EQ(watchers.ticks[0].peers, 1U);
  EXPECT_TRUE(watchers.ticks[0].peers_want_events);
}

}  // namespace
}  // namespace horae::testing
