// Settlements: what owners report of their attempts.
#pragma once

#include <span>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/cache/known_tasks.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

// Thread-safe.
class Settler {
 public:
  Settler(Pool& pool, Floors& floors, KnownTasks& known) : pool_(pool), floors_(floors), known_(known) {}

  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements);

 private:
  Pool& pool_;
  Floors& floors_;
  KnownTasks& known_;
};

}  // namespace horae::postgres
