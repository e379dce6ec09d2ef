// Quantiles of what happened lately.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"

namespace horae {

// The values of the last kMemory, kMost of them at most.
//
// Thread-safe.
class RecentDurations {
 public:
  static constexpr Duration kMemory = std::chrono::seconds(10);
  static constexpr std::size_t kMost = 8192;

  void note(MonotonicTime now, Duration value);

  // The value below which the share `q` of them lies; nothing if there are none. Costs a pass over all values.
  std::optional<Duration> quantile(double q) const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::pair<MonotonicTime, Duration>> values_;  // guarded by mutex_
};

}  // namespace horae
