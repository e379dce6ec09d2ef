// A line at debug level for each submit, claim and end of a task.
#pragma once

#include <utility>

#include "base/log.h"
#include "store/change.h"

namespace horae {

// Heartbeats are not logged, and calls that repeat an earlier one are logged once. Thread-safe.
class ChangeLog final : public ChangeObserver {
 public:
  explicit ChangeLog(Logger log) : log_(std::move(log)) {}

  void on_changes(std::span<const Change> changes) override;

 private:
  const Logger log_;
};

}  // namespace horae
