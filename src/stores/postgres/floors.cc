#include "stores/postgres/floors.h"

#include <algorithm>

namespace horae::postgres {
namespace {

// A look without the floor may be slow, so it takes no more than a twentieth of the time.
constexpr Duration kBetweenFullLooks = std::chrono::seconds(1);
constexpr int kShareOfFullLooks = 20;

}  // namespace

Floors::Look Floors::begin(int queue, bool full) {
  const MonotonicTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  Hint& hint = hints_[queue];
  full = full || hint.floor == kNone || now >= hint.next_full;
  if (full) hint.next_full = now + kBetweenFullLooks;  // others go on with the floor meanwhile
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
  if (hint.changes == look.changes) hint.floor = lowest;
}

void Floors::lower(int queue, std::int64_t rank) {
  const std::lock_guard lock(mutex_);
  Hint& hint = hints_[queue];
  ++hint.changes;
  hint.floor = std::min(hint.floor, rank);
}

}  // namespace horae::postgres
