// horae_tasks_total{event}: how many tasks were submitted, claimed, completed, purged...
#pragma once

#include <array>
#include <atomic>

#include "base/meter.h"
#include "model/state.h"
#include "store/change.h"

namespace horae {

// An event is published from its first task on. Thread-safe. The meter must outlive it.
class ChangeCounts final : public ChangeObserver {
 public:
  explicit ChangeCounts(Meter& meter) : meter_(meter) {}

  void on_changes(std::span<const Change> changes) override;

 private:
  Counter& counter_of(Event event);

  Meter& meter_;
  std::array<std::atomic<Counter*>, kAllEvents.size()> counters_{};  // null before the first look-up
};

}  // namespace horae
