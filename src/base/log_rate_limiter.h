// Rate-limits log lines that callers can trigger at will.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"

namespace horae {

// Lets up to `per_second` lines pass in each second and counts those that it suppresses.
//
// Thread-safe.
class LogRateLimiter {
 public:
  explicit LogRateLimiter(int per_second) : per_second_(per_second) {}

  // Nothing: suppress this line. A number: log it; so many were suppressed since the last line that passed.
  std::optional<std::size_t> next(MonotonicTime now) {
    const std::lock_guard lock(mutex_);
    if (!second_began_ || now - *second_began_ >= std::chrono::seconds(1)) {
      second_began_ = now;
      passed_ = 0;
    }
    if (passed_ < per_second_) {
      ++passed_;
      return std::exchange(suppressed_, 0);
    }
    ++suppressed_;
    return std::nullopt;
  }

 private:
  const int per_second_;

  std::mutex mutex_;
  std::optional<MonotonicTime> second_began_;  // guarded by mutex_; nothing before the first line
  int passed_ = 0;                             // guarded by mutex_; within this second
  std::size_t suppressed_ = 0;                 // guarded by mutex_; since the last line that passed
};

}  // namespace horae
