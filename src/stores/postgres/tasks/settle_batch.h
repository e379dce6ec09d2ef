// Settlements of any kind in a transaction: lock the ranges that they name, decide by judge() and effect_of(), write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/connection/connection.h"
#include "stores/postgres/layout/look_up.h"
#include "stores/postgres/layout/places.h"
#include "stores/postgres/layout/trail.h"
#include "stores/postgres/tasks/settle_cards.h"

namespace horae::postgres {

// The batch in its transaction: what it has locked and read, and what it will write. It waits for answers in between, and
// for transactions that hold the same ranges: nothing else may be locked before it.
class SettleBatch {
 public:
  // `is_confirmed`: the numbers that callers gave are known to be those of the ids.
  SettleBatch(Transaction& transaction, std::span<const Settlement> settlements, bool is_confirmed)
      : transaction_(transaction), settlements_(settlements), is_confirmed_(is_confirmed), trail_(transaction) {}

  // Reads and locks what the batch names, decides, and sends all changes. False after a failure.
  bool send();

  // For claims later in this transaction, which see what it makes ready. read() does it again, because claims of others
  // do not see that until the commit.
  void lower(Floors& floors) const;

  // After the commit.
  std::vector<SettleOutcome> read(Floors& floors);

 private:
  bool prepare();
  SettleOutcome settle(std::size_t place);
  void write();

  void find_numbers_of_all();
  void find_by_id(const std::vector<std::size_t>& places);
  std::vector<Range> ranges() const;
  void lock();
  void confirm_numbers();
  const RunningRange* lease_of(std::int64_t number) const;
  void make_cards();
  bool has_moved(const Settlement& said) const;
  void read_rare_things();

  void apply(Card& card, const Settlement& said);
  void keep_late_result(const Card& card, const Settlement& said);

  Transaction& transaction_;
  std::span<const Settlement> settlements_;
  const bool is_confirmed_;
  std::vector<std::optional<std::int64_t>> numbers_;  // of each settlement
  std::unordered_map<std::int64_t, TaskId> ids_;      // of numbers that callers gave
  std::map<std::int64_t, RunningRange> leases_;       // locked, by their first number
  Standings standings_;                               // of tasks that are not leased
  std::map<std::int64_t, Card> cards_;
  Trail trail_;
  std::vector<std::size_t> extended_;  // places of settlements whose answers have the end of a lease of this batch
  WrittenCards written_;
  Instant now_;  // of the locks
  std::vector<SettleOutcome> outcomes_;
};

}  // namespace horae::postgres
