// What claims hold whose worker is gone: it is looked up and released, so that no lease has to expire.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "store/task_store.h"

namespace horae {

// The most that an outage may leave to be looked up or released. Beyond it, the oldest are left to expire.
inline constexpr std::size_t kMaxUncertainClaims = 1'000;
inline constexpr std::size_t kMaxUnreleasedTasks = 10'000;

// Settlements that release tasks which their owner never started: that costs no try.
std::vector<Settlement> releases_of(const std::string& owner, const std::vector<LeasedTask>& tasks);

// Not thread-safe. It makes no calls itself: its owner takes out what to do, and puts back what has failed.
class Leftovers {
 public:
  explicit Leftovers(Logger log) : log_(std::move(log)) {}

  // The outcome of this claim is unknown, and its worker is gone: what it holds is to be looked up.
  void add(ClaimWish claim);

  // Tasks that no worker got, leased for `lease`.
  void add(std::vector<Settlement> releases, Duration lease);

  bool empty() const { return claims_.empty() && releases_.empty(); }
  bool has_claims() const { return !claims_.empty(); }
  bool has_releases() const { return !releases_.empty(); }

  // The next ones, oldest first; there must be one.
  ClaimWish take_claim();
  std::vector<Settlement> take_releases();  // kMaxBatch at most

  // The call failed.
  void put_back(ClaimWish claim);
  void put_back(std::vector<Settlement> releases);

  // The shortest lease that one of them may hold; kMaxLease if there is none.
  Duration shortest_lease() const { return empty() ? kMaxLease : shortest_; }

 private:
  void note_lease(Duration lease);
  void bound();

  Logger log_;
  std::deque<ClaimWish> claims_;
  std::deque<Settlement> releases_;
  bool has_dropped_ = false;       // since both were empty
  Duration shortest_ = kMaxLease;  // that one of them holds or held, since both were empty
};

}  // namespace horae
