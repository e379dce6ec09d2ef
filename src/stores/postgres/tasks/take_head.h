// The common claim, in one round trip: one worker wants tasks of one queue, and takes them from its head.
//
// Nothing has to be decided between looking and leasing, because within a queue the order of claims is that of the
// index. Several wishes, or several queues, are shared out in claim.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/connection/connection.h"
#include "stores/postgres/layout/ranges.h"

namespace horae::postgres {

// New tasks of the wished queue, due at once: the transaction has stored their rows and leaves it to the claim to make
// them ready. Those that the wish takes never have to be put among the ready ones.
struct FreshRange {
  Range range;
  std::int16_t priority = 0;
  std::optional<std::int32_t> max_attempts = {};
  std::optional<Duration> recurring = {};
};

struct HeadWish {
  const ClaimWish* wish = nullptr;
  int queue = 0;
  std::int64_t floor = 0;  // begin at this rank
  std::int64_t most = 0;   // how many ranges to lock

  // The highest priority of tasks that this transaction made ready in the queue: the floor may lie above them.
  std::optional<std::int16_t> made_ready = {};
};

// Leased to the owner of the wish.
struct TakenRange {
  Range range;
  int attempt = 0;
  bool is_recurring = false;
  std::int64_t rank = 0;
};

struct TakenHead {
  Instant now;
  std::vector<TakenRange> ranges;         // in the order of urgency
  std::vector<std::int64_t> left_behind;  // ranks of what this claim has put among the ready ones, or left in part
};

// `fresh` has ValuesStatement::kMostRows elements at most.
std::size_t send_take_head(Transaction& transaction, const HeadWish& wish, const std::vector<FreshRange>& fresh = {});

// After the commit. It has taken nothing if it is not as simple as that: nothing was found, or the wish needs more
// ranges than it was to look at. Fresh tasks are ready then.
TakenHead read_taken_head(const Transaction& transaction, std::size_t ticket);

}  // namespace horae::postgres
