// How often the log tells of what others can make happen as often as they like.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"

namespace horae {

// Lets so many lines pass in a second, and counts the others.
//
// Threads: any at once.
class LogRateLimiter {
 public:
  explicit LogRateLimiter(int per_second) : per_second_(per_second) {}

  // Nothing: this one is not told. Else how many were not told since the last that was.
  std::optional<std::size_t> next(MonotonicTime now) {
    const std::lock_guard lock(mutex_);
    if (!begun_ || now - *begun_ >= std::chrono::seconds(1)) {
      begun_ = now;
      told_ = 0;
    }
    if (told_ < per_second_) {
      ++told_;
      return std::exchange(suppressed_, 0);
    }
    ++suppressed_;
    return std::nullopt;
  }

 private:
  const int per_second_;

  std::mutex mutex_;
  std::optional<MonotonicTime> begun_;  // guarded by mutex_; the second that is counted
  int told_ = 0;                        // guarded by mutex_; in it
  std::size_t suppressed_ = 0;          // guarded by mutex_
};

}  // namespace horae
