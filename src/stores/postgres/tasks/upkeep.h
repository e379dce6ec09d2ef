// The engine's loops, as far as they change tasks: promotion and the watch over leases.
#pragma once

#include <optional>

#include "store/task_store.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

// Thread-safe.
class Upkeep {
 public:
  Upkeep(Pool& pool, Floors& floors) : pool_(pool), floors_(floors) {}

  Result<PromoteOutcome> promote_due(std::size_t max);
  Result<Watch> look();
  Result<bool> extend_leases(const std::optional<Instant>& seen);
  Result<ExpireOutcome> expire_leases(const ExpireWish& wish);

 private:
  Pool& pool_;
  Floors& floors_;
};

}  // namespace horae::postgres
