// Settlements: what owners report of their attempts.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "store/bundle.h"
#include "store/lease.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/cache/known_tasks.h"
#include "stores/postgres/cache/queue_names.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/tasks/settle_known.h"

namespace horae::postgres {

// Thread-safe.
class Settler {
 public:
  using Outcomes = std::vector<std::optional<SettleOutcome>>;

  Settler(Pool& pool, QueueNames& names, Floors& floors, KnownTasks& known)
      : pool_(pool), names_(names), floors_(floors), known_(known) {}

  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements);

  // Settles those that KnownSettlements could not, and returns all outcomes.
  Result<std::vector<SettleOutcome>> settle_rest(std::span<const Settlement> settlements, Outcomes outcomes);

 private:
  Result<std::vector<SettleOutcome>> settle_any(std::span<const Settlement> settlements);

  Pool& pool_;
  QueueNames& names_;
  Floors& floors_;
  KnownTasks& known_;
};

}  // namespace horae::postgres
