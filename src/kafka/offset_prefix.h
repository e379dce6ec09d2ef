// Which offset of a partition may be committed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace horae {

// Records of one partition are taken in order and done in any order. What may be committed is the end of the done ones
// without a gap: a committed offset has nothing undone below it.
//
// Not thread-safe.
class OffsetPrefix {
 public:
  // `offset` is above all that were taken before.
  void take(std::int64_t offset);

  // The offset to commit, which is one above the last done record without a gap; nothing if it has not moved. A record
  // that was not taken, or is done already, changes nothing.
  std::optional<std::int64_t> done(std::int64_t offset);

  // Records that are taken and not done.
  std::size_t pending() const { return pending_; }

 private:
  struct Taken {
    std::int64_t offset = 0;
    bool is_done = false;
  };
  std::deque<Taken> taken_;  // from the first that is not done
  std::size_t pending_ = 0;
};

}  // namespace horae
