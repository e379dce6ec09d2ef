// The figures of queues, from the counts of the store.
#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <string>

#include "observe/metrics.h"
#include "store/queue_store.h"

namespace horae {

inline constexpr std::size_t kMaxMeasuredQueues = 1'000;  // the first by name: more would flood a Prometheus server

// horae_queue_tasks{queue,state}, horae_queue_oldest_ready_seconds{queue}, horae_queue_paused{queue}
//
// Thread-safe. The metrics must outlive it.
class QueueGauges {
 public:
  explicit QueueGauges(Metrics& metrics) : metrics_(metrics) {}

  // The figures of queues that are not in the list end.
  void publish(const QueueList& queues);

 private:
  void publish(const QueueInfo& queue);
  void remove(const std::string& queue);

  Metrics& metrics_;
  std::mutex mutex_;                 // held while gauges are looked up and set, so that none of them ends meanwhile
  std::set<std::string> published_;  // guarded by mutex_
};

}  // namespace horae
