// What a node counts, for Prometheus. The library stays inside.
#pragma once

#include <compare>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "store/queue_store.h"

namespace horae {

inline constexpr std::size_t kMaxMeasuredQueues = 1'000;  // the first by name; more would drown whoever reads them

// How a route is called in metrics. Both texts live as long as the program.
struct RouteLabels {
  std::string_view pattern;
  std::string_view method;

  friend auto operator<=>(const RouteLabels&, const RouteLabels&) = default;
};

// Threads: every member may be called from any thread at once.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // horae_http_requests_total{route,method,status} and horae_http_request_seconds{route,method}
  void observe_request(const RouteLabels& route, int status, Duration took);

  // horae_store_calls_total{operation,result}, horae_store_call_seconds{operation}, horae_store_batch_items{operation}
  void observe_store_call(std::string_view operation, bool ok, std::size_t items, Duration took);

  // horae_tasks_total{event}: tasks to which it happened: submit, claim, heartbeat, complete, ..., expire, purge
  void count_tasks(std::string_view event, std::size_t count);

  // horae_settles_refused_total{verdict}
  void count_refused_settle(std::string_view verdict);

  // horae_queue_tasks{queue,state}, horae_queue_oldest_ready_seconds{queue}, horae_queue_paused{queue}
  void set_queues(const QueueList& queues);

  // Anything else that stands at a value: horae_slots_busy, horae_waiting_workers, ...
  void set_gauge(const std::string& name, const std::string& help, double value);

  // All of it in Prometheus' text format.
  std::string text() const;

 private:
  struct Held;
  std::unique_ptr<Held> held_;
};

}  // namespace horae
