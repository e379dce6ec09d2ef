#include "engine/relay/store_clock.h"

#include <algorithm>

#include "base/mutant.h"

namespace horae {
namespace {

constexpr Duration kContradiction = std::chrono::milliseconds(50);

// Far deadlines must not overflow the node's own time.
constexpr std::chrono::microseconds kFar = std::chrono::hours(24 * 365);

std::chrono::microseconds between(Instant from, Instant to) { return std::clamp(to - from, -kFar, kFar); }

}  // namespace

void StoreClock::note(MonotonicTime sent, MonotonicTime received, Instant store) {
  const Sample sample{sent, received, store};
  const std::lock_guard lock(mutex_);
  if (best_) {
    // Both say in which span of the node's time the store's clock showed `store`.
    const Duration ahead = sent - (best_->received + between(best_->store, store));
    const Duration behind = (best_->sent + between(best_->store, store)) - received;
    if (std::max(ahead, behind) > kContradiction) samples_.clear();
  }
  if (samples_.empty() || sample.slice() != samples_.back().slice()) {
    samples_.push_back(sample);
  } else if (sample.trip() < samples_.back().trip()) {
    samples_.back() = sample;
  }
  while (samples_.size() > 1 && received - samples_.front().received > kMemory) samples_.pop_front();
  choose_best();
}

void StoreClock::choose_best() { best_ = *std::ranges::min_element(samples_, {}, &Sample::trip); }

std::optional<MonotonicTime> StoreClock::surely_after(Instant instant) const {
  const std::lock_guard lock(mutex_);
  if (!best_) return std::nullopt;
  if (HORAE_MUTANT("fires_early_by_receipt_clock"))
    return samples_.back().sent + between(samples_.back().store, instant);
  return best_->received + between(best_->store, instant);
}

std::optional<MonotonicTime> StoreClock::surely_before(Instant instant) const {
  const std::lock_guard lock(mutex_);
  if (!best_) return std::nullopt;
  return best_->sent + between(best_->store, instant);
}

std::optional<Instant> StoreClock::estimate(MonotonicTime own) const {
  const std::lock_guard lock(mutex_);
  if (!best_) return std::nullopt;
  const Duration since = own - (best_->sent + best_->trip() / 2);
  return best_->store + std::chrono::floor<std::chrono::microseconds>(since);
}

}  // namespace horae
