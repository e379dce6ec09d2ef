#include "api/request_meter.h"

#include <chrono>
#include <string>

namespace horae {
namespace {

constexpr Figure kRequests = {"horae_http_requests_total", "Requests answered, by route and status"};
constexpr Figure kSeconds = {"horae_http_request_seconds",
                             "From the complete request to its answer; long polls include their wait"};

}  // namespace

void RequestMeter::record(const Route& route, int status, Duration took) {
  Counter* count = nullptr;
  Histogram* seconds = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Instruments& instruments = by_route_[&route];
    if (instruments.seconds == nullptr) {
      instruments.seconds =
          &meter_.histogram(kSeconds, kSecondsBuckets, {{"route", route.pattern}, {"method", route.method}});
    }
    Counter*& counter = instruments.by_status[status];
    if (counter == nullptr) {
      counter = &meter_.counter(
          kRequests, {{"route", route.pattern}, {"method", route.method}, {"status", std::to_string(status)}});
    }
    seconds = instruments.seconds;
    count = counter;
  }
  count->add();
  seconds->record(std::chrono::duration<double>(took).count());
}

}  // namespace horae
