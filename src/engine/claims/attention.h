// Owners of cancelled tasks who have not been informed yet.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace horae {

inline constexpr Duration kAttentionIsKept = std::chrono::seconds(60);
inline constexpr std::size_t kMaxAttention = 10'000;  // owners; beyond it the oldest hints are dropped

// A hint that at least one task of an owner was cancelled, until the owner's next call. The heartbeats of the task
// decide, so a dropped hint only costs time.
//
// Not thread-safe.
class Attention {
 public:
  void keep(std::string owner);

  // Whether there is a hint for the owner, which is given once.
  bool take(std::string_view owner);

  // Drops the hints that are older than kAttentionIsKept. The age is counted from the first call after keep(), which does
  // not have the time.
  void drop_old(MonotonicTime now);

  bool empty() const { return owners_.empty(); }

 private:
  struct Kept {
    std::string owner;
    std::optional<MonotonicTime> until;
  };

  std::deque<Kept> kept_;  // in the order of keep()
  std::set<std::string, std::less<>> owners_;
};

}  // namespace horae
