#include "engine/relay/timing_advance.h"

#include <algorithm>

namespace horae {
namespace {

constexpr Duration kRenewal = std::chrono::milliseconds(250);

}  // namespace

void TimingAdvance::note(MonotonicTime now, Duration taken) {
  times_.note(now, taken);
  if (fixed_) return;
  {
    const std::lock_guard lock(mutex_);
    if (computed_ && now - *computed_ < kRenewal) return;
    computed_ = now;
  }
  const Duration median = times_.quantile(0.5).value_or(Duration::zero());
  const std::lock_guard lock(mutex_);
  // Whole microseconds, as the store's times.
  learnt_ = std::chrono::floor<std::chrono::microseconds>(std::clamp(median, Duration::zero(), kMostAdvance));
}

Duration TimingAdvance::value() const {
  if (fixed_) return *fixed_;
  const std::lock_guard lock(mutex_);
  return learnt_;
}

}  // namespace horae
