#include "base/waker.h"

#include <algorithm>
#include <utility>

namespace horae {

void Waker::wake() {
  {
    const std::lock_guard lock(mutex_);
    pending_ = true;
  }
  woken_.notify_one();
}

bool Waker::wait(MonotonicTime deadline) {
  using Steady = std::chrono::steady_clock;  // SystemClock counts from the same point
  const Steady::time_point last(std::chrono::duration_cast<Steady::duration>(deadline.time_since_epoch()));
  std::unique_lock lock(mutex_);
  woken_.wait_until(lock, last, [this] { return pending_; });
  return std::exchange(pending_, false);
}

}  // namespace horae
