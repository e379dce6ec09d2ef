// What the engine's loops do to tasks: promote, watch over leases, purge.
#pragma once

#include <optional>
#include <vector>

#include "store/task_store.h"
#include "stores/postgres/layout/days.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

// Threads: any thread at once.
class Upkeep {
 public:
  Upkeep(Pool& pool, Days& days, Floors& floors, Duration purge_delay)
      : pool_(pool), days_(days), floors_(floors), purge_delay_(purge_delay) {}

  Result<PromoteOutcome> promote_due(std::size_t max);
  Result<Watch> look();
  Result<bool> extend_leases(const std::optional<Instant>& seen);
  Result<ExpireOutcome> expire_leases(const ExpireWish& wish);
  Result<PurgeOutcome> purge(std::size_t max);

 private:
  Result<std::size_t> drop_days();

  Pool& pool_;
  Days& days_;
  Floors& floors_;
  const Duration purge_delay_;
};

}  // namespace horae::postgres
