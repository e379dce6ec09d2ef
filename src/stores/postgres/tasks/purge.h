// Removes finished tasks after the retention of their queue.
#pragma once

#include <cstddef>

#include "store/task_store.h"
#include "stores/postgres/cache/queue_names.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/layout/days.h"

namespace horae::postgres {

// Removes up to `max` finished tasks of a queue, whatever its retention; returns how many. Thread-safe.
Result<std::size_t> purge_queue(Pool& pool, int queue, std::size_t max);

// Thread-safe.
class Purger {
 public:
  // `delay`: see PostgresStoreOptions::purge_delay.
  Purger(Pool& pool, Days& days, QueueNames& names, Duration delay)
      : pool_(pool), days_(days), names_(names), delay_(delay) {}

  Result<PurgeOutcome> purge(std::size_t max);

 private:
  Result<PurgeOutcome> purge_tasks(std::size_t max);
  Result<std::size_t> drop_days();
  Result<std::vector<std::int64_t>> find_old_days();
  Result<std::size_t> drop_day(std::int64_t day);

  Pool& pool_;
  Days& days_;
  QueueNames& names_;
  const Duration delay_;
};

}  // namespace horae::postgres
