// Removes finished tasks after the retention of their queue.
#pragma once

#include <cstddef>

#include "store/task_store.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/layout/days.h"

namespace horae::postgres {

// Thread-safe.
class Purger {
 public:
  // `delay`: see PostgresStoreOptions::purge_delay.
  Purger(Pool& pool, Days& days, Duration delay) : pool_(pool), days_(days), delay_(delay) {}

  Result<PurgeOutcome> purge(std::size_t max);

 private:
  Result<std::size_t> drop_days();
  Result<std::vector<std::int64_t>> find_old_days();
  Result<std::size_t> drop_day(std::int64_t day);

  Pool& pool_;
  Days& days_;
  const Duration delay_;
};

}  // namespace horae::postgres
