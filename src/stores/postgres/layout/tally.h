// The counts of finished tasks, which transactions leave behind as differences.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

// Adds up rows of the table tally, one for each queue and state; returns how many it took. Thread-safe, also across
// nodes: two calls at once take different rows.
Result<std::size_t> fold_tally(Pool& pool);

}  // namespace horae::postgres
