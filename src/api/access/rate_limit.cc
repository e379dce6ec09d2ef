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
  const MonotonicTime full_at = std::max(bucket.full_at, now) + interval_;
  if (full_at - now > depth_) return full_at - now - depth_;
  bucket.full_at = full_at;
  return std::nullopt;
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
