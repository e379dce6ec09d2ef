// A node's dispatcher with the loops around it, driven by a test: loops that are woken run until none is.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/claims/claimer.h"
#include "engine/lifecycle/upkeep.h"
#include "engine/slots/dispatcher.h"
#include "tests/engine/engine.h"
#include "tests/support/direct_exchange.h"

namespace horae::testing {

// Runs end when the test ends them.
class ScriptedExecutor final : public Executor {
 public:
  void start(ChoreId run, const LeasedTask& task, MonotonicTime, OnEnd on_end) override {
    started.push_back(task.id);
    runs_[run] = {task.id, std::move(on_end)};
  }
  void stop(ChoreId run, MonotonicTime) override {
    if (const auto found = runs_.find(run); found != runs_.end()) {
      stopped.push_back(found->second.task);
      if (stops_at_once) end(found->second.task, run_stopped({.progress = 0.5, .checkpoint = "5"}));
    }
  }
  RunProgress progress(ChoreId run, MonotonicTime) override { return runs_.contains(run) ? reached : RunProgress{}; }

  void end(const TaskId& task, RunEnd how = run_done());
  std::vector<TaskId> running() const;

  std::vector<TaskId> started;  // in their order
  std::vector<TaskId> stopped;
  bool stops_at_once = true;
  RunProgress reached;

 private:
  struct Run {
    TaskId task;
    OnEnd on_end;
  };
  std::map<ChoreId, Run> runs_;
};

class TestNode final : private ChangeObserver {
 public:
  struct Options {
    std::string owner = "node-1";
    DispatcherOptions dispatcher = {.queues = {kQueue}};
    std::vector<UpkeepJob> jobs = {};
    Meter* meter = &no_meter();
  };
  TestNode(TaskStore& tasks, QueueStore& queues, const Clock& clock, Logger log, Options options);

  // Runs the loops that were woken, until none is.
  void settle_down();

  // Runs all loops, whether they want to or not, until nothing changes.
  void run_all();

  // As Engine::stop() does.
  void drain() {
    dispatcher_.drain(clock_.now());
    claimer_.drain();
  }

  TaskStore& tasks() { return tasks_; }  // what changes through it wakes the loops
  ScriptedExecutor& executor() { return executor_; }
  Dispatcher& dispatcher() { return dispatcher_; }
  Claimer& claimer() { return claimer_; }
  Upkeep& upkeep() { return upkeep_; }

  std::vector<TaskId> backlog() const;  // in order
  std::size_t busy_slots() const;
  int scheduled = 0;  // calls of the store that scheduled a task
  bool is_drained = false;

 private:
  void on_changes(std::span<const Change> changes) override;
  void wake(Loop& loop) { woken_.insert(&loop); }
  DispatcherSignals signals();

  const Clock& clock_;
  SeededRandom random_{7};
  UuidSource ids_;
  ObservedTasks tasks_;
  ScriptedExecutor executor_;
  bool has_round_ = false;  // the combiner was called
  Combiner combiner_;
  Claimer claimer_;
  Upkeep upkeep_;
  Dispatcher dispatcher_;
  std::set<Loop*> woken_;
};

class DispatcherLoops : public EngineTest {
 protected:
  TestNode node(TestNode::Options options = {}) {
    return {faulty(), queues(), node_clock(), log(), std::move(options)};
  }

  // Time passes in steps of a third of a lease, and all loops of the nodes run.
  void live(Duration time, const std::vector<TestNode*>& nodes);
};
class UpkeepLoop : public DispatcherLoops {};
class SlotLoops : public DispatcherLoops {
 protected:
  // Ends the runs of the node as they come, each after ten milliseconds, `count` in all.
  void run_briefly(TestNode& node, int count);

  // Ends all runs of the node, and those that follow.
  void run_to_end(TestNode& node);
};
class DispatcherCrash : public DispatcherLoops {};

// A node that keeps a long queue in memory, as SHIELD does: what it claims waits for its slots, for ever.
inline DispatcherOptions hoarding(std::size_t slots, std::size_t ahead = 8) {
  return {.queues = {kQueue}, .slots = slots, .ahead = ahead, .ahead_time = 24h, .give_back = 24h};
}

// A level of SHIELD as a priority of ours.
inline NewTask at_level(int level) { return {.priority = kMaxPriority - level}; }

class ElevatorLoop : public DispatcherLoops {
 protected:
  // Takes the only slot, so that all later tasks wait.
  void fill_the_slot() {
    (void)submit(at_level(0));
    node_.run_all();
  }

  std::vector<TaskId> arrive(std::size_t count, int level) {
    auto ids = submit_many(count, at_level(level));
    node_.claimer().on_ready({kQueue});
    node_.settle_down();
    return ids;
  }

  void elevate() { node_.dispatcher().elevator().run_once(node_now()); }

  // What waits in a level, in order.
  std::vector<TaskId> level(int level) {
    std::vector<TaskId> ids;
    for (const BacklogEntry& entry : node_.dispatcher().status().backlog) {
      if (entry.position.level == level) ids.push_back(entry.task);
    }
    return ids;
  }

  TestNode node_ = node({.dispatcher = hoarding(1, 100)});
};

}  // namespace horae::testing
