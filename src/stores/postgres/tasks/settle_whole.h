// The common settlement, in one round trip: a worker completes all tasks of leases that it got through this node.
//
// Nothing has to be read first: if the leases are unchanged, judge() accepts each completion; if one of them has
// changed, the transaction is rolled back, and settle.h takes over.
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

// Sends the statement that completes all of them. If one of the leases has changed (it was cut, has expired, or the
// owner is another one), the transaction fails with Failure::unmet() and is rolled back.
void send_completion(Transaction& transaction, const std::vector<WholeLease>& leases);

// Completes all of them, or none, in a transaction of its own. False if one of the leases has changed.
Result<bool> complete_whole(Pool& pool, const std::vector<WholeLease>& leases);

// The outcomes of a batch that was completed in this way.
std::vector<SettleOutcome> completed_outcomes(std::span<const Settlement> settlements);

}  // namespace horae::postgres
