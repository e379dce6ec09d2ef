// When an aborted attempt is tried again.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/result.h"

namespace horae {

struct RetryPolicy {
  enum class Kind { kNone, kFixed, kExponential };

  Kind kind = Kind::kNone;                   // as in Scylla: an abort is final
  Duration delay = std::chrono::seconds(1);  // before the first retry
  double factor = 2.0;                       // exponential: each delay is this many times the one before
  Duration cap = std::chrono::hours(1);      // no delay is longer
  double jitter = 0.0;                       // 0 to 1: the share of the delay that is left to chance

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

inline constexpr double kMaxRetryFactor = 100.0;

// Checks a policy from outside; the error names the part that is wrong.
Result<void> check_retry_policy(const RetryPolicy& policy);

// How long to wait before the next try, after `tries` of them have failed (1 or more, this one included). Nothing if
// the task is given up: the policy is none, or `max_attempts` is above 0 and used up. `chance` is uniform in [0, 1);
// the delay lies between (1 - jitter) times and once the policy's value, and is never above the cap.
std::optional<Duration> retry_delay(const RetryPolicy& policy, int tries, int max_attempts, double chance);

}  // namespace horae
