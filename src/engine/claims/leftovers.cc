#include "engine/claims/leftovers.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace horae {
namespace {

// False if nothing was dropped.
template <typename Items>
bool drop_oldest(Items& items, std::size_t most) {
  if (items.size() <= most) return false;
  items.erase(items.begin(), items.end() - static_cast<std::ptrdiff_t>(most));
  return true;
}

}  // namespace

std::vector<Settlement> releases_of(const std::string& owner, const std::vector<LeasedTask>& tasks) {
  std::vector<Settlement> releases;
  for (const LeasedTask& task : tasks) {
    releases.push_back({.event = Event::kRelease,
                        .id = task.id,
                        .number = task.number,
                        .attempt = task.attempt,
                        .owner = owner,
                        .queue = task.queue});
  }
  return releases;
}

void Leftovers::note_lease(Duration lease) {
  if (empty()) has_dropped_ = false;
  shortest_ = std::min(shortest_lease(), lease);
}

void Leftovers::add(ClaimWish claim) {
  note_lease(claim.lease);
  claims_.push_back(std::move(claim));
  bound();
}

void Leftovers::add(std::vector<Settlement> releases, Duration lease) {
  if (releases.empty()) return;
  note_lease(lease);
  std::ranges::move(releases, std::back_inserter(releases_));
  bound();
}

ClaimWish Leftovers::take_claim() {
  ClaimWish claim = std::move(claims_.front());
  claims_.pop_front();
  return claim;
}

std::vector<Settlement> Leftovers::take_releases() {
  const auto end = releases_.begin() + static_cast<std::ptrdiff_t>(std::min(releases_.size(), kMaxBatch));
  std::vector<Settlement> batch(std::make_move_iterator(releases_.begin()), std::make_move_iterator(end));
  releases_.erase(releases_.begin(), end);
  return batch;
}

void Leftovers::put_back(ClaimWish claim) {
  claims_.push_front(std::move(claim));
  bound();
}

void Leftovers::put_back(std::vector<Settlement> releases) {
  releases_.insert(releases_.begin(), std::make_move_iterator(releases.begin()),
                   std::make_move_iterator(releases.end()));
  bound();
}

void Leftovers::bound() {
  const bool drops_claims = drop_oldest(claims_, kMaxUncertainClaims);
  const bool drops_tasks = drop_oldest(releases_, kMaxUnreleasedTasks);
  if ((!drops_claims && !drops_tasks) || std::exchange(has_dropped_, true)) return;
  log_.warn("too many tasks of workers that are gone cannot be released: the oldest will expire",
            {{"claims", claims_.size()}, {"tasks", releases_.size()}});
}

}  // namespace horae
