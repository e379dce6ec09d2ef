// The common way of settling, in one round trip: a worker completes all tasks of leases that this node gave it.
//
// Nothing has to be read first, because nothing is left to decide: if the leases still stand as they were given, then
// judge() accepts each completion, and if one of them does not, nothing happens at all and settle.h looks with care.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/cache/known_tasks.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/layout/ranges.h"

namespace horae::postgres {

// A lease of which all tasks are completed. Points into the settlements.
struct WholeLease {
  Range range;
  int attempt = 0;
  std::string_view owner;
  std::optional<std::vector<std::optional<std::string_view>>> results;  // nothing if no task brought one
};

// The batch as leases, in the order of their numbers. Nothing if it is anything else than completions of whole leases,
// each task once, with results that fit into ranges, of callers without a scope; or if these are more leases than one
// statement takes.
std::optional<std::vector<WholeLease>> whole_leases(std::span<const Settlement> settlements, KnownTasks& known);

// Sends the statement that completes all of them. If one of the leases does not stand as it was given (it was cut, has
// expired, or another owner is meant), the transaction fails with Failure::unmet(), and nothing of it has happened.
void send_completion(Transaction& transaction, const std::vector<WholeLease>& leases);

// Completes all of them, or none, in a transaction of its own. False if one does not stand as it was given.
Result<bool> complete_whole(Pool& pool, const std::vector<WholeLease>& leases);

// What is told of a batch that was completed so.
std::vector<SettleOutcome> completed_outcomes(std::span<const Settlement> settlements);

}  // namespace horae::postgres
