// Counts and times requests by route.
#pragma once

#include <map>
#include <mutex>

#include "api/route.h"
#include "base/clock.h"
#include "base/meter.h"

namespace horae {

// horae_http_requests_total{route,method,status} and horae_http_request_seconds{route,method}. Thread-safe.
class RequestMeter {
 public:
  // The meter must outlive it.
  explicit RequestMeter(Meter& meter) : meter_(meter) {}

  // The route is one of routes().
  void record(const Route& route, int status, Duration took);

 private:
  struct Instruments {
    Histogram* seconds = nullptr;
    std::map<int, Counter*> by_status;
  };

  Meter& meter_;
  std::mutex mutex_;
  std::map<const Route*, Instruments> by_route_;  // guarded by mutex_
};

}  // namespace horae
