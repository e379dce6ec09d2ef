// The figures of queues, from the counts of the store.
#pragma once

#include <cstddef>

#include "base/meter.h"
#include "store/queue_store.h"

namespace horae {

inline constexpr std::size_t kMaxMeasuredQueues = 1'000;  // the first by name: more would flood a Prometheus server

// horae_queue_tasks{queue,state}, horae_queue_oldest_ready_seconds{queue}, horae_queue_paused{queue}
void publish_queues(Meter& meter, const QueueList& queues);

}  // namespace horae
