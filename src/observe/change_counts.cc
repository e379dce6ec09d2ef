#include "observe/change_counts.h"

namespace horae {
namespace {

constexpr Figure kTasks = {"horae_tasks_total", "Tasks to which an event happened"};

bool is_of_tasks(const Change& change) {
  return change.kind == Change::Kind::kTask || change.kind == Change::Kind::kTasks;
}

}  // namespace

void ChangeCounts::on_changes(std::span<const Change> changes) {
  std::array<std::size_t, kAllEvents.size()> counts{};
  for (const Change& change : changes) {
    if (change.is_new && is_of_tasks(change)) counts[static_cast<std::size_t>(change.event)] += change.count;
  }
  for (const Event event : kAllEvents) {
    const std::size_t count = counts[static_cast<std::size_t>(event)];
    if (count > 0) counter_of(event).add(static_cast<double>(count));
  }
}

// Two threads may look up the same counter, which is the same for both.
Counter& ChangeCounts::counter_of(Event event) {
  std::atomic<Counter*>& kept = counters_[static_cast<std::size_t>(event)];
  Counter* counter = kept.load(std::memory_order_acquire);
  if (counter == nullptr) {
    counter = &meter_.counter(kTasks, {{"event", to_string(event)}});
    kept.store(counter, std::memory_order_release);
  }
  return *counter;
}

}  // namespace horae
