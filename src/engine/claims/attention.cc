#include "engine/claims/attention.h"

#include <algorithm>
#include <utility>

namespace horae {

void Attention::keep(std::string owner) {
  if (!owners_.insert(owner).second) return;
  kept_.push_back({.owner = std::move(owner), .until = std::nullopt});
  if (kept_.size() <= kMaxAttention) return;
  owners_.erase(kept_.front().owner);
  kept_.pop_front();
}

bool Attention::take(std::string_view owner) {
  const auto found = owners_.find(owner);
  if (found == owners_.end()) return false;
  owners_.erase(found);
  kept_.erase(std::ranges::find(kept_, owner, &Kept::owner));
  return true;
}

void Attention::drop_old(MonotonicTime now) {
  for (auto newest = kept_.rbegin(); newest != kept_.rend() && !newest->until; ++newest) {
    newest->until = now + kAttentionIsKept;
  }
  while (!kept_.empty() && *kept_.front().until <= now) {
    owners_.erase(kept_.front().owner);
    kept_.pop_front();
  }
}

}  // namespace horae
