// The share of each token in what a node can hold and do at one time.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "http/limits/caller_share.h"

namespace horae {

// Thread-safe.
class CallerShares {
 public:
  // Beyond `max_unused`, shares of which nothing is in use are forgotten, which loses nothing.
  explicit CallerShares(CallerLimits limits, std::size_t max_unused = 1'000)
      : limits_(limits), max_unused_(max_unused) {}

  // The share of this token. Null for no token: then there are no limits of one caller.
  std::shared_ptr<CallerShare> of(std::string_view token_id);

  std::size_t size() const;

 private:
  const CallerLimits limits_;
  const std::size_t max_unused_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<CallerShare>, std::less<>> shares_;  // guarded by mutex_; by token
  std::size_t forget_at_ = max_unused_;                                      // guarded by mutex_; this many shares
};

}  // namespace horae
