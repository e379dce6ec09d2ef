// Tokens that serve one claim for good: see TaskStore::claim().
#pragma once

#include <span>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/layout/payloads.h"

namespace horae::postgres {

// Sends statements that wait for the transactions that are at work under these tokens, and keep the tokens locked up to
// the end of this one. To be sent before anything else is locked: a transaction that holds ranges must not wait here. It
// fails if it would have to wait for long.
void wait_for_tokens(Transaction& transaction, const std::vector<Uuid>& tokens);

// What is still leased under tokens; those under which nothing is are absent.
Result<HeldTasks::ByToken> find_held(Pool& pool, const std::vector<Uuid>& tokens);

// As TaskStore says.
Result<std::vector<LeasedTask>> leases_of(Pool& pool, const Uuid& token);
Result<std::vector<bool>> have_served(Pool& pool, std::span<const Uuid> tokens);

}  // namespace horae::postgres
