// A small workload that shows what a node does, and a report of its progress.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "engine/loop.h"
#include "store/store.h"

namespace horae {

// The queues whose tasks the demo submits; the node's slots must claim from them.
std::vector<std::string> demo_queues();

// Two queues, several priorities, a long task with progress, one that fails and is retried, one that recurs. Each
// start adds new ones; the recurring task is submitted once.
Result<void> submit_demo(Store& store, UuidSource& ids);

// Prints a line to `out` whenever a task of the demo changes.
class DemoReport final : public Loop {
 public:
  // All references must outlive the report.
  DemoReport(TaskStore& tasks, const Clock& clock, std::ostream& out) : tasks_(tasks), clock_(clock), out_(out) {}

  std::string_view name() const override { return "demo"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  void print(const Task& task);

  TaskStore& tasks_;
  const Clock& clock_;
  std::ostream& out_;
  bool is_first_ = true;                   // tasks that had ended before this start are not printed
  std::map<TaskId, std::string> printed_;  // the newest line of each task
};

}  // namespace horae
