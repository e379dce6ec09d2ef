// Limits how often each caller may call.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace horae {

struct RateLimitOptions {
  int per_second = 10'000;        // in the long run; at least 1
  int burst = 20'000;             // after a pause; at least 1
  std::size_t max_keys = 10'000;  // beyond it, the least recently used key is dropped and starts with a full bucket
};

// A token bucket for each key: it holds `burst` calls and gains `per_second`. Thread-safe.
class RateLimit {
 public:
  explicit RateLimit(RateLimitOptions options = {});

  // Nothing if the call is allowed, which also counts it; else how long to wait until one is allowed.
  std::optional<Duration> take(std::string_view key, MonotonicTime now);

  // The same answer without counting a call.
  std::optional<Duration> look(std::string_view key, MonotonicTime now);

 private:
  // The time at which the bucket will be full again says how full it is now.
  struct Bucket {
    std::string key;
    MonotonicTime full_at;
  };
  using Buckets = std::list<Bucket>;

  Bucket& bucket_of(std::string_view key, MonotonicTime now);
  std::optional<Duration> wait_of(MonotonicTime full_at, MonotonicTime now) const;

  const Duration interval_;  // in which a bucket gains one call
  const Duration depth_;     // in which an empty bucket gets full
  const std::size_t max_keys_;

  std::mutex mutex_;
  Buckets buckets_;  // guarded by mutex_; the most recently used first
  std::map<std::string_view, Buckets::iterator, std::less<>> places_;  // guarded by mutex_; the keys are the buckets'
};

}  // namespace horae
