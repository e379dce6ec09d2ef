#include "stores/postgres/cache/floors.h"

#include <algorithm>

namespace horae::postgres {
namespace {

// A look without the floor may be slow, so it takes no more than a twentieth of the time.
constexpr Duration kBetweenFullLooks = std::chrono::seconds(1);
constexpr int kShareOfFullLooks = 20;

// Within a second each priority brings one rank, so this is more than a look lasts.
constexpr std::size_t kMaxRemembered = 512;

}  // namespace

void Floors::Hint::note(std::int64_t rank) {
  ++changes;
  while (!lowest_since.empty() && lowest_since.back().rank >= rank) lowest_since.pop_back();
  lowest_since.push_back({changes, rank});
  if (lowest_since.size() <= kMaxRemembered) return;
  const auto half = lowest_since.begin() + kMaxRemembered / 2;
  forgotten = (half - 1)->number;
  lowest_since.erase(lowest_since.begin(), half);
}

std::optional<std::int64_t> Floors::Hint::lowest_after(std::uint64_t number) const {
  if (number < forgotten) return std::nullopt;
  const auto found = std::ranges::upper_bound(lowest_since, number, {}, &Change::number);
  return found == lowest_since.end() ? std::numeric_limits<std::int64_t>::max() : found->rank;
}

Floors::Look Floors::begin(int queue, bool full) {
  const MonotonicTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  Hint& hint = hints_[queue];
  full = full || hint.floor == kNone || now >= hint.next_full;
  if (full) hint.next_full = now + kBetweenFullLooks;  // other claims use the floor meanwhile
  return {.floor = full ? kNone : hint.floor, .changes = hint.changes, .began = now};
}

void Floors::end(int queue, const Look& look, std::int64_t lowest) {
  const MonotonicTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  Hint& hint = hints_[queue];
  if (look.floor == kNone) {
    hint.next_full = now + std::max(kBetweenFullLooks, kShareOfFullLooks * (now - look.began));
  }
  // What became ready meanwhile may lie lower, seen by this look or not.
  if (const auto meanwhile = hint.lowest_after(look.changes)) hint.floor = std::min(lowest, *meanwhile);
}

void Floors::lower(int queue, std::int64_t rank) {
  const std::lock_guard lock(mutex_);
  Hint& hint = hints_[queue];
  hint.note(rank);
  hint.floor = std::min(hint.floor, rank);
}

void Floors::forget() {
  const std::lock_guard lock(mutex_);
  hints_.clear();
}

}  // namespace horae::postgres
