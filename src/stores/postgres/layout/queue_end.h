// The end of queues that hold no task. A queue never ends while a task in it exists or is being submitted.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

enum class EndOf { kAny, kNeverConfigured };

// Deletes those of the queues that hold no task, whatever its state; returns their numbers. Waits for submissions that
// are under way, and keeps new ones waiting until the end of its transaction: those then find no queue, and make it
// again. kUnavailable if a submission does not end in time: nothing was done. Thread-safe, also across nodes.
Result<std::vector<int>> end_queues(Pool& pool, const std::vector<int>& queues, EndOf which);

// Ends up to `max` queues that were made longer than kQueueMemory ago, were never configured and hold no task; returns
// their numbers. Where it cannot get the lock soon it does nothing: the next call tries again.
Result<std::vector<int>> forget_queues(Pool& pool, std::size_t max);

}  // namespace horae::postgres
