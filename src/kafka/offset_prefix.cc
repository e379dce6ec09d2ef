#include "kafka/offset_prefix.h"

#include <algorithm>

#include "base/check.h"

namespace horae {

void OffsetPrefix::take(std::int64_t offset) {
  HORAE_CHECK(taken_.empty() || taken_.back().offset < offset, "records of a partition are taken in order");
  taken_.push_back({.offset = offset});
  ++pending_;
}

std::optional<std::int64_t> OffsetPrefix::done(std::int64_t offset) {
  const auto found = std::ranges::lower_bound(taken_, offset, {}, &Taken::offset);
  if (found == taken_.end() || found->offset != offset || found->is_done) return std::nullopt;
  found->is_done = true;
  --pending_;
  std::optional<std::int64_t> end;
  while (!taken_.empty() && taken_.front().is_done) {
    end = taken_.front().offset + 1;
    taken_.pop_front();
  }
  return end;
}

}  // namespace horae
