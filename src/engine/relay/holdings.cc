#include "engine/relay/holdings.h"

#include <algorithm>

#include "base/check.h"
#include "base/mutant.h"
#include "engine/relay/sizes.h"

namespace horae {

bool Holdings::begin_readying() {
  const std::lock_guard lock(mutex_);
  if (is_lost_) return false;
  ++readying_;
  return true;
}

void Holdings::end_readying(bool is_lost) {
  const std::lock_guard lock(mutex_);
  --readying_;
  is_lost_ = is_lost_ || (is_lost && !HORAE_MUTANT("lost_turn_forgotten"));
}

bool Holdings::has_lost_answer() const {
  const std::lock_guard lock(mutex_);
  return is_lost_;
}

bool Holdings::may_resolve() const {
  const std::lock_guard lock(mutex_);
  return is_lost_ && readying_ == 0;
}

void Holdings::end_resolving() {
  const std::lock_guard lock(mutex_);
  is_lost_ = false;
}

ReadyLimits Holdings::room() const {
  const std::lock_guard lock(mutex_);
  if (bytes_ >= most_bytes_) return {};
  return {.max = most_ - std::min(entries_.size(), most_), .max_bytes = most_bytes_ - bytes_};
}

std::vector<Held> Holdings::add(std::vector<ReadiedMessage> readied) {
  std::vector<Held> added;
  added.reserve(readied.size());
  const std::lock_guard lock(mutex_);
  for (ReadiedMessage& each : readied) {
    if (!ids_.emplace(key_of(each.readying), last_id_ + 1).second) continue;
    const std::size_t bytes = size_of(each.message);
    entries_.emplace(++last_id_, Entry{.readying = each.readying, .deadline = each.message.deadline, .bytes = bytes});
    bytes_ += bytes;
    added.push_back({last_id_, std::move(each)});
  }
  return added;
}

void Holdings::fired(HoldId id) {
  const std::lock_guard lock(mutex_);
  fired_.push_back(id);
}

void Holdings::give_back(HoldId id, Duration delay, bool may_be_published) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.at(id);
  entry.delay = delay;
  entry.may_be_published = may_be_published;
  failed_.push_back(id);
}

void Holdings::refused(HoldId id) {
  const std::lock_guard lock(mutex_);
  refused_.push_back(id);
}

std::pair<Readying, Instant> Holdings::get(HoldId id) const {
  const std::lock_guard lock(mutex_);
  const Entry& entry = entries_.at(id);
  return {entry.readying, entry.deadline};
}

TurnWork Holdings::next_work(std::size_t most) const {
  TurnWork work;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < std::min(most, fired_.size()); ++i) {
    const Entry& entry = entries_.at(fired_[i]);
    work.fired.push_back(entry.readying);
    work.fired_ids.push_back(fired_[i]);
    work.was_asked.push_back(entry.was_asked);
  }
  for (std::size_t i = 0; i < std::min(most, failed_.size()); ++i) {
    const Entry& entry = entries_.at(failed_[i]);
    work.failed.push_back(
        {.readying = entry.readying, .delay = entry.delay, .may_be_published = entry.may_be_published});
    work.failed_ids.push_back(failed_[i]);
  }
  return work;
}

void Holdings::erase(HoldId id) {
  const auto found = entries_.find(id);
  HORAE_CHECK(found != entries_.end(), "a message is forgotten once");
  bytes_ -= found->second.bytes;
  ids_.erase(key_of(found->second.readying));
  entries_.erase(found);
}

// Only the turn takes from the front, and other threads append.
void Holdings::forget(const TurnWork& done) {
  const std::lock_guard lock(mutex_);
  fired_.erase(fired_.begin(), fired_.begin() + static_cast<std::ptrdiff_t>(done.fired_ids.size()));
  failed_.erase(failed_.begin(), failed_.begin() + static_cast<std::ptrdiff_t>(done.failed_ids.size()));
  for (const HoldId id : done.fired_ids) erase(id);
  for (const HoldId id : done.failed_ids) erase(id);
}

void Holdings::note_asked(const TurnWork& asked) {
  const std::lock_guard lock(mutex_);
  for (const HoldId id : asked.fired_ids) entries_.at(id).was_asked = true;
}

std::vector<HoldId> Holdings::take_refused(std::size_t most) {
  const std::lock_guard lock(mutex_);
  const auto end = refused_.begin() + static_cast<std::ptrdiff_t>(std::min(most, refused_.size()));
  std::vector<HoldId> taken(refused_.begin(), end);
  refused_.erase(refused_.begin(), end);
  return taken;
}

bool Holdings::holds(const Readying& readying) const {
  const std::lock_guard lock(mutex_);
  return ids_.contains(key_of(readying));
}

std::size_t Holdings::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

std::size_t Holdings::unsettled() const {
  const std::lock_guard lock(mutex_);
  return fired_.size() + failed_.size() + refused_.size();
}

}  // namespace horae
