#include "observe/call_meter.h"

namespace horae {
namespace {

constexpr Figure kCalls = {"horae_store_calls_total", "Calls of the store, by operation and result"};
constexpr Figure kSeconds = {"horae_store_call_seconds", "How long calls of the store took"};
constexpr Figure kItems = {"horae_store_batch_items", "Items in one call of the store"};

}  // namespace

void CallMeter::look_up() {
  succeeded_ = &meter_.counter(kCalls, {{"operation", operation_}, {"result", "ok"}});
  seconds_ = &meter_.histogram(kSeconds, kSecondsBuckets, {{"operation", operation_}});
}

Histogram& CallMeter::batch_items() {
  std::call_once(looked_up_items_, [this] {
    items_ = &meter_.histogram(kItems, kItemsBuckets, {{"operation", operation_}});
  });
  return *items_;
}

void CallMeter::record(bool ok, std::size_t items, Duration took) {
  std::call_once(looked_up_, [this] { look_up(); });
  if (ok) {
    succeeded_->add();
  } else {
    meter_.counter(kCalls, {{"operation", operation_}, {"result", "failed"}}).add();
  }
  seconds_->record(std::chrono::duration<double>(took).count());
  if (items > 0) batch_items().record(static_cast<double>(items));
}

}  // namespace horae
