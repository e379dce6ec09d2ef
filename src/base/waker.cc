#include "base/waker.h"

#include <algorithm>
#include <utility>

namespace horae {

void Waker::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_rung_ = true;
  }
  rang_.notify_one();
}

bool Waker::wait(MonotonicTime deadline) {
  using Steady = std::chrono::steady_clock;  // SystemClock counts from the same point
  const Steady::time_point last(std::chrono::duration_cast<Steady::duration>(deadline.time_since_epoch()));
  std::unique_lock lock(mutex_);
  rang_.wait_until(lock, last, [this] { return is_rung_; });
  return std::exchange(is_rung_, false);
}

}  // namespace horae
