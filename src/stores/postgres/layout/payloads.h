// What leased tasks carry: read from their rows once it is known which numbers are leased.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/connection/connection.h"
#include "stores/postgres/layout/ranges.h"

namespace horae::postgres {

// Fills in what the task rows say.
class Payloads {
 public:
  // Sends the statements for the task rows of `numbers`, and for the checkpoints of those in `again`.
  Payloads(Transaction& transaction, std::vector<std::int64_t> numbers, const std::vector<Range>& again);

  // These two when the answers are there.
  void fill(std::unordered_map<std::int64_t, LeasedTask*>& tasks) const;
  std::unordered_set<std::int64_t> found() const;  // the numbers of the tasks that have a row

 private:
  Transaction& transaction_;
  std::optional<std::size_t> payloads_;
  std::optional<std::size_t> checkpoints_;
};

// The tasks that are leased under some tokens, read step by step, so that its statements share round trips with others.
class HeldTasks {
 public:
  // Sends the statement for the leases.
  HeldTasks(Transaction& transaction, const std::vector<Uuid>& tokens);

  // When their answer is there: reads what the tasks carry. One round trip, none without leases.
  void read();

  struct OfToken {
    std::string owner;  // a token is of one owner
    std::vector<LeasedTask> tasks;
  };
  using ByToken = std::map<Uuid, OfToken>;

  // When that answer is there: the tasks of each token that holds any, in the order of their numbers.
  const ByToken& fill();

 private:
  Transaction& transaction_;
  const std::size_t leases_;
  ByToken tasks_;
  std::optional<Payloads> payloads_;
};

}  // namespace horae::postgres
