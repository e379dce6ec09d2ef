#include "observe/queue_gauges.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <utility>

#include "model/state.h"

namespace horae {
namespace {

constexpr Figure kTasks = {"horae_queue_tasks", "Tasks of a queue, by state"};
constexpr Figure kOldestReady = {"horae_queue_oldest_ready_seconds", "How long the longest ready task has been ready"};
constexpr Figure kPaused = {"horae_queue_paused", "1 while a queue is paused"};

}  // namespace

void QueueGauges::publish(const QueueInfo& queue) {
  const std::array<std::pair<State, std::int64_t>, 6> counts = {{{State::kScheduled, queue.scheduled},
                                                                 {State::kReady, queue.ready},
                                                                 {State::kRunning, queue.running},
                                                                 {State::kCompleted, queue.completed},
                                                                 {State::kAborted, queue.aborted},
                                                                 {State::kCancelled, queue.cancelled}}};
  for (const auto& [state, count] : counts) {
    metrics_.gauge(kTasks, {{"queue", queue.name}, {"state", to_string(state)}}).set(static_cast<double>(count));
  }
  const std::chrono::duration<double> oldest = queue.oldest_ready.value_or(Duration::zero());
  metrics_.gauge(kOldestReady, {{"queue", queue.name}}).set(oldest.count());
  metrics_.gauge(kPaused, {{"queue", queue.name}}).set(queue.settings.paused ? 1 : 0);
}

void QueueGauges::remove(const std::string& queue) {
  for (const State state : kAllStates) metrics_.remove_gauge(kTasks, {{"queue", queue}, {"state", to_string(state)}});
  metrics_.remove_gauge(kOldestReady, {{"queue", queue}});
  metrics_.remove_gauge(kPaused, {{"queue", queue}});
}

void QueueGauges::publish(const QueueList& queues) {
  const std::size_t count = std::min(queues.queues.size(), kMaxMeasuredQueues);
  std::set<std::string> present;
  const std::lock_guard lock(mutex_);
  for (const QueueInfo& queue : std::span(queues.queues).first(count)) {
    publish(queue);
    present.insert(queue.name);
  }
  for (const std::string& name : published_) {
    if (!present.contains(name)) remove(name);
  }
  published_ = std::move(present);
}

}  // namespace horae
