// The bytes that a server holds for one request or one answer. Private to the server.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "http/limits/caller_share.h"

namespace horae {

// Counted in the total of the server, and in the share of the caller if it has one; returned to both when destroyed.
// The total outlives it.
//
// Not thread-safe.
class HeldBytes {
 public:
  HeldBytes(Quota& total, std::shared_ptr<CallerShare> share) : total_(&total), share_(std::move(share)) {}
  HeldBytes(HeldBytes&& other) noexcept
      : total_(other.total_), share_(std::move(other.share_)), count_(std::exchange(other.count_, 0)) {}
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    HeldBytes before(std::move(other));
    std::swap(total_, before.total_);
    std::swap(share_, before.share_);
    std::swap(count_, before.count_);
    return *this;
  }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;
  ~HeldBytes() { shrink(count_); }

  // Holds so many bytes instead of those before. False, and nothing changes, if there is no room for them.
  bool try_resize(std::size_t count) {
    if (count <= count_) {
      shrink(count_ - count);
      return true;
    }
    const std::size_t more = count - count_;
    if (!total_->try_add(more)) return false;
    if (share_ && !take_of_share(more, 0)) {
      total_->remove(more);
      return false;
    }
    count_ = count;
    return true;
  }

  // Those of the answer to a request that holds these. Nothing only if there was no room before it: it exists already.
  std::optional<HeldBytes> for_answer(std::size_t count) const {
    if (!total_->add_if_room(count, count_)) return std::nullopt;
    if (share_ && !take_of_share(count, count_)) {
      total_->remove(count);
      return std::nullopt;
    }
    HeldBytes answer = sibling();
    answer.count_ = count;
    return answer;
  }

  // For what must be sent in any case, and is small.
  void add(std::size_t count) {
    total_->add(count);
    if (share_) share_->bytes.add(count);
    count_ += count;
  }

  // The caller is known now.
  void move_to(const std::shared_ptr<CallerShare>& share) {
    if (share == share_) return;
    if (share) share->bytes.add(count_);
    if (share_) share_->bytes.remove(count_);
    share_ = share;
  }

  // Splits off all but `left` bytes, which stay here.
  HeldBytes take_all_but(std::size_t left) {
    HeldBytes taken(*total_, share_);
    taken.count_ = count_ - left;
    count_ = left;
    return taken;
  }

  // None yet, of the same caller.
  HeldBytes sibling() const { return {*total_, share_}; }

  // True if the caller's own share has no room, and not the server as a whole.
  bool is_of_full_share() const { return share_ && share_->bytes.held() >= share_->bytes.limit(); }

 private:
  // Once a quarter of the total is in use, callers that hold much get no more of it, so that many of them cannot take all.
  bool take_of_share(std::size_t count, std::size_t own) const {
    const std::size_t much = total_->limit() / 64;
    const bool is_short = total_->held() - count > total_->limit() / 4;
    return (!is_short || share_->bytes.held() - own <= much) && share_->bytes.add_if_room(count, own);
  }

  void shrink(std::size_t less) {
    if (less == 0) return;
    total_->remove(less);
    if (share_) share_->bytes.remove(less);
    count_ -= less;
  }

  Quota* total_;
  std::shared_ptr<CallerShare> share_;
  std::size_t count_ = 0;
};

}  // namespace horae
