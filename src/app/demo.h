// A small workload that shows what a node does, and prints it as it happens.
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

// Two queues, several priorities, a long task with progress, one that fails and is tried again, one that recurs. Each
// start adds new ones; the recurring task is made once.
Result<void> submit_demo(Store& store, UuidSource& ids);

// Tells on `out` whenever a task of the demo changes.
class DemoReport final : public Loop {
 public:
  // All of them must outlive the report.
  DemoReport(TaskStore& tasks, const Clock& clock, std::ostream& out) : tasks_(tasks), clock_(clock), out_(out) {}

  std::string_view name() const override { return "demo"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  void tell(const Task& task);

  TaskStore& tasks_;
  const Clock& clock_;
  std::ostream& out_;
  bool is_first_ = true;                // what had ended before this start is not told
  std::map<TaskId, std::string> told_;  // the newest line of each
};

}  // namespace horae
