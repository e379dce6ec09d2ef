#include "api/access/rate_limit.h"

#include <algorithm>

#include "base/check.h"

namespace horae {

RateLimit::RateLimit(RateLimitOptions options)
    : interval_(Duration(std::chrono::seconds(1)) / std::max(options.per_second, 1)),
      depth_(interval_ * options.burst),
      max_keys_(options.max_keys) {
  HORAE_CHECK(options.per_second > 0 && options.burst > 0 && options.max_keys > 0, "a rate limit allows some calls");
}

std::optional<Duration> RateLimit::take(std::string_view key, MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  Bucket& bucket = bucket_of(key, now);
  if (const auto wait = wait_of(bucket.full_at, now)) return wait;
  bucket.full_at = std::max(bucket.full_at, now) + interval_;
  return std::nullopt;
}

std::optional<Duration> RateLimit::look(std::string_view key, MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(key);
  return place == places_.end() ? std::nullopt : wait_of(place->second->full_at, now);
}

// Until a bucket that will be full at that time has room for one call.
std::optional<Duration> RateLimit::wait_of(MonotonicTime full_at, MonotonicTime now) const {
  const Duration wait = std::max(full_at, now) + interval_ - now - depth_;
  return wait > Duration::zero() ? std::optional(wait) : std::nullopt;
}

RateLimit::Bucket& RateLimit::bucket_of(std::string_view key, MonotonicTime now) {
  if (const auto place = places_.find(key); place != places_.end()) {
    buckets_.splice(buckets_.begin(), buckets_, place->second);
    return buckets_.front();
  }
  if (buckets_.size() == max_keys_) {
    places_.erase(buckets_.back().key);
    buckets_.pop_back();
  }
  buckets_.push_front({.key = std::string(key), .full_at = now});
  places_.emplace(buckets_.front().key, buckets_.begin());
  return buckets_.front();
}

}  // namespace horae
