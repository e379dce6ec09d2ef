// The statements of claims, each of one round trip: workers want tasks, and take them from the heads of queues.
//
// Nothing has to be decided between looking and leasing, because within a queue the order of claims is that of the
// index, and wishes from the same queues are served in their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/connection/connection.h"
#include "stores/postgres/layout/ranges.h"

namespace horae::postgres {

// New tasks of a wished queue, due at once: the transaction has stored their rows and leaves it to the claim to make
// them ready. Those that a wish takes never have to be put among the ready ones.
struct FreshRange {
  Range range;
  int queue = 0;
  std::int16_t priority = 0;
  std::optional<std::int32_t> max_attempts = {};
  std::optional<Duration> recurring = {};
};

struct HeadQueue {
  int no = 0;
  std::int64_t floor = 0;  // begin at this rank

  // The highest priority of tasks that this transaction made ready in the queue: the floor may lie above them.
  std::optional<std::int16_t> made_ready = {};
};

// One statement.
struct HeadWish {
  std::vector<const ClaimWish*> wishes;  // at least one; no token that serves once comes twice
  std::vector<HeadQueue> queues;         // from which all of them wish
  std::int64_t most = 0;                 // how many ranges of each queue to lock
};

// Leased to the owner of a wish.
struct TakenPiece {
  std::size_t wish = 0;  // its place
  Range range;
  int queue = 0;
  int attempt = 0;
  bool is_recurring = false;
  std::int64_t rank = 0;
};

struct TakenHead {
  Instant now;
  std::vector<TakenPiece> pieces;                         // in the order of urgency
  std::vector<std::pair<int, std::int64_t>> left_behind;  // queue and rank of what was put among the ready ones
  std::vector<int> ended;                                 // queues that do not exist any more

  // The wishes whose tokens have served, and those under whose tokens another transaction is at work: they got nothing.
  std::vector<std::size_t> served;
  std::vector<std::size_t> busy;

  // Why nothing was taken. None of these if the queues are paused, or the scheduler is stopped.
  bool is_short = false;     // it takes more ranges than it was to look at
  bool others_hold = false;  // other transactions hold all that is ready
  bool is_empty = false;     // nothing is ready
  bool is_put_off = false;   // settlements of this transaction have to be repeated first
};

// `fresh` has ValuesStatement::kMostRows elements at most.
std::size_t send_take_head(Transaction& transaction, const HeadWish& wish, const std::vector<FreshRange>& fresh = {});

// After the commit. Fresh tasks that were not taken are ready then.
TakenHead read_taken_head(const Transaction& transaction, std::size_t ticket);

}  // namespace horae::postgres
