#include "tests/engine/node.h"

#include <algorithm>

namespace horae::testing {

void ScriptedExecutor::end(const TaskId& task, RunEnd how) {
  const auto found = std::ranges::find_if(runs_, [&](const auto& each) { return each.second.task == task; });
  if (found == runs_.end()) throw std::runtime_error("the test ends a run that there is not");
  const OnEnd on_end = std::move(found->second.on_end);
  runs_.erase(found);
  on_end(std::move(how));
}

std::vector<TaskId> ScriptedExecutor::running() const {
  std::vector<TaskId> ids;
  for (const auto& [chore, run] : runs_) ids.push_back(run.task);
  return ids;
}

TestNode::TestNode(TaskStore& tasks, QueueStore& queues, const Clock& clock, Logger log, Options options)
    : clock_(clock),
      ids_(clock, random_),
      tasks_(tasks, no_meter(), clock, *this),
      combiner_(tasks_),
      claimer_(
          combiner_, tasks_, log, [this] { wake(claimer_); }, {}, *options.meter),
      upkeep_({.tasks = tasks_,
               .ids = ids_,
               .add_chore = [this](LeasedTask task) { dispatcher_.add_internal(std::move(task)); },
               .wake = [this] { wake(upkeep_); }},
              options.owner, options.dispatcher.lease, log, std::move(options.jobs)),
      dispatcher_({.tasks = tasks_,
                   .exchange = exchange_with(tasks_),
                   .queues = queues,
                   .claimer = claimer_,
                   .executor = executor_,
                   .upkeep = upkeep_,
                   .ids = ids_,
                   .random = random_,
                   .meter = *options.meter},
                  options.owner, log, signals(), options.dispatcher) {
  combiner_.open([this] { has_round_ = true; });
  dispatcher_.dispatching().run_once(clock_.now());
}

DispatcherSignals TestNode::signals() {
  return {.dispatch = [this] { wake(dispatcher_.dispatching()); },
          .settling = [this] { wake(dispatcher_.settling()); },
          .heartbeats = [this] { wake(dispatcher_.heartbeats()); },
          .drained = [this] { is_drained = true; }};
}

void TestNode::on_changes(std::span<const Change> changes) {
  const WakeUps wake_ups = wake_ups_of(changes);
  claimer_.on_wake_ups(wake_ups);
  if (wake_ups.scheduled) ++scheduled;
}

void TestNode::settle_down() {
  for (int turns = 0; has_round_ || !woken_.empty(); ++turns) {
    if (turns > 10'000) throw std::runtime_error("the loops wake each other without end");
    if (woken_.empty()) {  // else the loops learn the time first
      has_round_ = combiner_.run_round();
      continue;
    }
    Loop* loop = *woken_.begin();
    woken_.erase(woken_.begin());
    loop->run_once(clock_.now());
  }
}

void TestNode::run_all() {
  for (Loop* loop : {&dispatcher_.heartbeats(), &dispatcher_.settling(), &dispatcher_.dispatching(),
                     static_cast<Loop*>(&claimer_), static_cast<Loop*>(&upkeep_)}) {
    wake(*loop);
  }
  settle_down();
}

std::vector<TaskId> TestNode::backlog() const {
  std::vector<TaskId> ids;
  for (const BacklogEntry& entry : dispatcher_.status().backlog) ids.push_back(entry.task);
  return ids;
}

std::size_t TestNode::busy_slots() const {
  const auto slots = dispatcher_.status().slots;
  return static_cast<std::size_t>(
      std::ranges::count_if(slots, [](const SlotEntry& slot) { return slot.run.has_value(); }));
}

void SlotLoops::run_briefly(TestNode& node, int count) {
  for (int i = 0; i < count; ++i) {
    pass(10ms);
    node.executor().end(node.executor().running().front());
    node.settle_down();
  }
}

void SlotLoops::run_to_end(TestNode& node) {
  while (!node.executor().running().empty()) {
    node.executor().end(node.executor().running().front());
    node.settle_down();
  }
}

void DispatcherLoops::live(Duration time, const std::vector<TestNode*>& nodes) {
  const MonotonicTime end = node_now() + time;
  while (node_now() < end) {
    pass(std::min(Duration(kDefaultLease / 3), end - node_now()));
    for (TestNode* each : nodes) each->run_all();
  }
}

}  // namespace horae::testing
