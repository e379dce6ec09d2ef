// How long before its deadline a message is published.
#pragma once

#include <mutex>
#include <optional>

#include "base/clock.h"
#include "engine/relay/recent_durations.h"

namespace horae {

inline constexpr Duration kMostAdvance = std::chrono::milliseconds(200);

// Fixed, or learnt: the median of the times from publish to report of the last 10 s, between zero and kMostAdvance, and
// zero before the first report.
//
// Thread-safe.
class TimingAdvance {
 public:
  // Nothing: it learns.
  explicit TimingAdvance(std::optional<Duration> fixed) : fixed_(fixed) {}

  // A publish was reported `taken` after it.
  void note(MonotonicTime now, Duration taken);

  Duration value() const;

  // From publish to report; for the status.
  const RecentDurations& publish_times() const { return times_; }

 private:
  const std::optional<Duration> fixed_;
  RecentDurations times_;
  mutable std::mutex mutex_;
  Duration learnt_{};                      // guarded by mutex_
  std::optional<MonotonicTime> computed_;  // guarded by mutex_; when learnt_ was computed
};

}  // namespace horae
