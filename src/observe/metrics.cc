#include "observe/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "model/state.h"

namespace horae {
namespace {

using Counters = prometheus::Family<prometheus::Counter>;
using Gauges = prometheus::Family<prometheus::Gauge>;
using Histograms = prometheus::Family<prometheus::Histogram>;

const prometheus::Histogram::BucketBoundaries kSeconds = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
const prometheus::Histogram::BucketBoundaries kItems = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

// Families look up their members by a map of labels, which is slow; so what is used often is kept at hand.
struct Metrics::Held {
  prometheus::Registry registry;
  Counters& requests = prometheus::BuildCounter()
                           .Name("horae_http_requests_total")
                           .Help("Requests answered, by route and status")
                           .Register(registry);
  Histograms& request_seconds = prometheus::BuildHistogram()
                                    .Name("horae_http_request_seconds")
                                    .Help("From the whole request to its answer; long polls count with their wait")
                                    .Register(registry);
  Counters& store_calls = prometheus::BuildCounter()
                              .Name("horae_store_calls_total")
                              .Help("Calls of the store, by operation and result")
                              .Register(registry);
  Histograms& store_seconds = prometheus::BuildHistogram()
                                  .Name("horae_store_call_seconds")
                                  .Help("How long calls of the store took")
                                  .Register(registry);
  Histograms& batch_items = prometheus::BuildHistogram()
                                .Name("horae_store_batch_items")
                                .Help("Items in one call of the store")
                                .Register(registry);
  Counters& tasks =
      prometheus::BuildCounter().Name("horae_tasks_total").Help("Tasks to which an event happened").Register(registry);
  Counters& refused_settles = prometheus::BuildCounter()
                                  .Name("horae_settles_refused_total")
                                  .Help("Settlements that were not taken, by verdict")
                                  .Register(registry);
  Gauges& queue_tasks =
      prometheus::BuildGauge().Name("horae_queue_tasks").Help("Tasks of a queue, by state").Register(registry);
  Gauges& queue_oldest = prometheus::BuildGauge()
                             .Name("horae_queue_oldest_ready_seconds")
                             .Help("How long the longest ready task has been ready")
                             .Register(registry);
  Gauges& queue_paused =
      prometheus::BuildGauge().Name("horae_queue_paused").Help("1 while a queue is paused").Register(registry);

  struct RouteMetrics {
    prometheus::Histogram* seconds = nullptr;
    std::map<int, prometheus::Counter*> by_status;
  };
  RouteMetrics& of(const RouteLabels& route);                                            // with mutex held
  prometheus::Counter& of(const RouteLabels& route, RouteMetrics& metrics, int status);  // with mutex held

  std::mutex mutex;
  std::map<RouteLabels, RouteMetrics> by_route;  // guarded by mutex; its pointers live as long as the registry
};

Metrics::Metrics() : held_(std::make_unique<Held>()) {}
Metrics::~Metrics() = default;

Metrics::Held::RouteMetrics& Metrics::Held::of(const RouteLabels& route) {
  RouteMetrics& found = by_route[route];
  if (found.seconds == nullptr) {
    found.seconds =
        &request_seconds.Add({{"route", std::string(route.pattern)}, {"method", std::string(route.method)}}, kSeconds);
  }
  return found;
}

prometheus::Counter& Metrics::Held::of(const RouteLabels& route, RouteMetrics& metrics, int status) {
  prometheus::Counter*& found = metrics.by_status[status];
  if (found == nullptr) {
    found = &requests.Add({{"route", std::string(route.pattern)},
                           {"method", std::string(route.method)},
                           {"status", std::to_string(status)}});
  }
  return *found;
}

void Metrics::observe_request(const RouteLabels& route, int status, Duration took) {
  prometheus::Counter* count = nullptr;
  prometheus::Histogram* seconds = nullptr;
  {
    const std::lock_guard lock(held_->mutex);
    Held::RouteMetrics& metrics = held_->of(route);
    count = &held_->of(route, metrics, status);
    seconds = metrics.seconds;
  }
  count->Increment();
  seconds->Observe(seconds_of(took));
}

void Metrics::observe_store_call(std::string_view operation, bool ok, std::size_t items, Duration took) {
  const std::string name(operation);
  held_->store_calls.Add({{"operation", name}, {"result", ok ? "ok" : "failed"}}).Increment();
  held_->store_seconds.Add({{"operation", name}}, kSeconds).Observe(seconds_of(took));
  if (items > 0) held_->batch_items.Add({{"operation", name}}, kItems).Observe(static_cast<double>(items));
}

void Metrics::count_tasks(std::string_view event, std::size_t count) {
  held_->tasks.Add({{"event", std::string(event)}}).Increment(static_cast<double>(count));
}

void Metrics::count_refused_settle(std::string_view verdict) {
  held_->refused_settles.Add({{"verdict", std::string(verdict)}}).Increment();
}

void Metrics::set_queues(const QueueList& queues) {
  std::size_t left = kMaxMeasuredQueues;
  for (const QueueInfo& queue : queues.queues) {
    if (left-- == 0) return;
    const std::array<std::pair<State, std::int64_t>, 6> counts = {{{State::kScheduled, queue.scheduled},
                                                                   {State::kReady, queue.ready},
                                                                   {State::kRunning, queue.running},
                                                                   {State::kCompleted, queue.completed},
                                                                   {State::kAborted, queue.aborted},
                                                                   {State::kCancelled, queue.cancelled}}};
    for (const auto& [state, count] : counts) {
      held_->queue_tasks.Add({{"queue", queue.name}, {"state", std::string(to_string(state))}})
          .Set(static_cast<double>(count));
    }
    held_->queue_oldest.Add({{"queue", queue.name}}).Set(seconds_of(queue.oldest_ready.value_or(Duration::zero())));
    held_->queue_paused.Add({{"queue", queue.name}}).Set(queue.settings.paused ? 1 : 0);
  }
}

void Metrics::set_gauge(const std::string& name, const std::string& help, double value) {
  prometheus::BuildGauge().Name(name).Help(help).Register(held_->registry).Add({}).Set(value);
}

std::string Metrics::text() const { return prometheus::TextSerializer().Serialize(held_->registry.Collect()); }

}  // namespace horae
