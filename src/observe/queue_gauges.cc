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

void publish(Meter& meter, const QueueInfo& queue) {
  const std::array<std::pair<State, std::int64_t>, 6> counts = {{{State::kScheduled, queue.scheduled},
                                                                 {State::kReady, queue.ready},
                                                                 {State::kRunning, queue.running},
                                                                 {State::kCompleted, queue.completed},
                                                                 {State::kAborted, queue.aborted},
                                                                 {State::kCancelled, queue.cancelled}}};
  for (const auto& [state, count] : counts) {
    meter.gauge(kTasks, {{"queue", queue.name}, {"state", to_string(state)}}).set(static_cast<double>(count));
  }
  const std::chrono::duration<double> oldest = queue.oldest_ready.value_or(Duration::zero());
  meter.gauge(kOldestReady, {{"queue", queue.name}}).set(oldest.count());
  meter.gauge(kPaused, {{"queue", queue.name}}).set(queue.settings.paused ? 1 : 0);
}

}  // namespace

void publish_queues(Meter& meter, const QueueList& queues) {
  const std::size_t count = std::min(queues.queues.size(), kMaxMeasuredQueues);
  for (const QueueInfo& queue : std::span(queues.queues).first(count)) publish(meter, queue);
}

}  // namespace horae
