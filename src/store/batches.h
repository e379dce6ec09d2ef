// Checks that every store makes before it touches its database.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <span>

#include "base/result.h"
#include "store/submission.h"

namespace horae {

// kRefused for more than kMaxBatch items.
inline Result<void> check_batch_size(std::size_t size) {
  if (size <= kMaxBatch) return {};
  return Error{ErrorCode::kRefused, fmt::format("{} items in one call, at most {} are allowed", size, kMaxBatch)};
}

// The same, and `check` for each item: one that fails makes the whole batch fail.
template <typename Item, typename Check>
Result<void> check_batch(std::span<const Item> items, Check check) {
  if (auto checked = check_batch_size(items.size()); !checked.ok()) return checked;
  for (const Item& item : items) {
    if (auto checked = check(item); !checked.ok()) return checked;
  }
  return {};
}

}  // namespace horae
