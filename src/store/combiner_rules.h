// Which items of a combiner share a store call. Private to the combiner.
#pragma once

#include <algorithm>
#include <cstddef>

#include "store/combiner.h"

namespace horae {

// For items that may always share a batch. A rule says whether the next item of a line joins the batch that is being made;
// else the batch ends before it.
struct AnyItems {
  template <typename Item>
  bool operator()(const Item& /*item*/) const {
    return true;
  }
};

// Ends a batch at the claim that would pass a limit, and lets none pass it by: a large wish would wait for ever.
class AtMostTasks {
 public:
  explicit AtMostTasks(std::size_t most) : most_(most) {}

  bool operator()(const ClaimWish& wish) {
    const auto wanted = static_cast<std::size_t>(std::max(wish.max, 1));
    if (tasks_ > 0 && tasks_ + wanted > most_) return false;
    if (wish.once && tokens_ == kMaxOnceInAClaim) return false;
    tasks_ += wanted;
    if (wish.once) ++tokens_;
    return true;
  }

 private:
  std::size_t most_;
  std::size_t tasks_ = 0;
  std::size_t tokens_ = 0;
};

}  // namespace horae
