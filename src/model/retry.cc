#include "model/retry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/duration.h"

namespace horae {
namespace {

Error wrong(std::string message) { return {ErrorCode::kRefused, "retry policy: " + std::move(message)}; }

// The delay before jitter. Computed in floating point, because the power soon leaves the integers; the cap brings it
// back.
Duration plain_delay(const RetryPolicy& policy, int tries) {
  if (policy.kind == RetryPolicy::Kind::kFixed) return std::min(policy.delay, policy.cap);
  const double grown = static_cast<double>(policy.delay.count()) * std::pow(policy.factor, tries - 1);
  if (grown >= static_cast<double>(policy.cap.count())) return policy.cap;
  return Duration(static_cast<Duration::rep>(grown));
}

}  // namespace

Result<void> check_retry_policy(const RetryPolicy& policy) {
  if (policy.delay < Duration::zero()) return wrong(fmt::format("delay {} is negative", format_duration(policy.delay)));
  if (policy.cap < Duration::zero()) return wrong(fmt::format("cap {} is negative", format_duration(policy.cap)));
  // Written so that NaN is refused as well.
  if (!(policy.factor >= 1.0 && policy.factor <= kMaxRetryFactor)) {
    return wrong(fmt::format("factor {}: give 1 to {}", policy.factor, kMaxRetryFactor));
  }
  if (!(policy.jitter >= 0.0 && policy.jitter <= 1.0)) {
    return wrong(fmt::format("jitter {}: give 0 to 1", policy.jitter));
  }
  return {};
}

std::optional<Duration> retry_delay(const RetryPolicy& policy, int tries, int max_attempts, double chance) {
  HORAE_CHECK(tries >= 1, "a retry follows at least one failed try");
  HORAE_CHECK(chance >= 0.0 && chance < 1.0, "chance is in [0, 1)");
  if (policy.kind == RetryPolicy::Kind::kNone) return std::nullopt;
  if (max_attempts > 0 && tries >= max_attempts) return std::nullopt;

  const Duration delay = plain_delay(policy, tries);
  const auto shorter = static_cast<Duration::rep>(static_cast<double>(delay.count()) * policy.jitter * chance);
  return delay - Duration(std::min(shorter, delay.count()));
}

}  // namespace horae
