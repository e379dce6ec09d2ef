// A node crashes at any of its store calls, before the call's work or after it, and another node takes over.

#include <fmt/format.h>

#include <memory>

#include "base/time_text.h"
#include "engine/lifecycle/monitor.h"
#include "engine/lifecycle/promoter.h"
#include "tests/engine/node.h"

namespace horae::testing {
namespace {

using ::testing::IsEmpty;

constexpr int kMoreCallsThanALifeHas = 40;

// A node with all its loops, which completes every run.
struct WholeNode {
  WholeNode(TestNode& a_node, const Logger& log)
      : node(a_node), promoter(node.tasks(), log), monitor(node.tasks(), log) {}

  void run_once(MonotonicTime now) {
    promoter.run_once(now);
    monitor.run_once(now);
    node.run_all();
    for (const TaskId& id : node.executor().running()) node.executor().end(id);
    node.settle_down();
  }

  TestNode& node;
  Promoter promoter;
  horae::Monitor monitor;
};

// For people who read a failure.
std::string trail_of(const Task& task) {
  std::string trail;
  for (const HistoryEntry& entry : task.history.entries()) {
    trail += fmt::format(" {} {} {}", to_string(entry.kind), entry.worker, format_instant(entry.time));
  }
  return trail;
}

TEST_P(DispatcherCrash, LosesNothingWhateverCallOfTheStoreIsTheLast) {
  int crashes = 0;
  for (int call = 1; call <= kMoreCallsThanALifeHas; ++call) {
    for (const bool after : {false, true}) {
      const std::vector<TaskId> ids = {submit(), submit({.run_at = now() + 2s}), submit({.recurring = 1min})};
      faulty().calls_to_crash = call;
      faulty().crashes_after = after;
      try {
        TestNode first = node({.owner = "first"});
        WholeNode whole(first, log());
        for (int i = 0; i < 5; ++i) {
          whole.run_once(node_now());
          pass(1s);
        }
      } catch (const FaultyTasks::Crash&) {
        ++crashes;
      }
      faulty().calls_to_crash = 0;

      TestNode second = node({.owner = "second"});
      WholeNode whole(second, log());
      for (int i = 0; i < 15; ++i) {
        whole.run_once(node_now());
        pass(1s);
      }
      EXPECT_EQ(state_of(ids[0]), State::kCompleted) << "call " << call;
      EXPECT_EQ(state_of(ids[1]), State::kCompleted) << "call " << call;
      EXPECT_EQ(state_of(ids[2]), State::kScheduled) << "call " << call;
      for (const TaskId& id : ids) EXPECT_LE(get(id).attempt, 2) << "call " << call << ": " << trail_of(get(id));
      (void)cancel(ids[2]);
      ASSERT_THAT(list_all({.kind = ListKind::kRunning}), IsEmpty());
    }
  }
  EXPECT_GT(crashes, 30);
}

}  // namespace
}  // namespace horae::testing
