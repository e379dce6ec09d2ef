#include "api/access/caller_shares.h"

namespace horae {

std::shared_ptr<CallerShare> CallerShares::of(std::string_view token_id) {
  if (token_id.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = shares_.find(token_id);
  if (found != shares_.end()) return found->second;
  if (shares_.size() >= forget_at_) {
    std::erase_if(shares_, [](const auto& each) { return each.second.use_count() == 1; });
    forget_at_ = shares_.size() + max_unused_;  // so that each share is looked at once for each new one, on average
  }
  return shares_.emplace(token_id, std::make_shared<CallerShare>(limits_)).first->second;
}

std::size_t CallerShares::size() const {
  const std::lock_guard lock(mutex_);
  return shares_.size();
}

}  // namespace horae
