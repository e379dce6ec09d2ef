// What owners say about their attempts, and cancel.
#pragma once

#include <span>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/floors.h"
#include "stores/postgres/known_ids.h"
#include "stores/postgres/pool.h"

namespace horae::postgres {

// Threads: any thread at once.
class Settler {
 public:
  Settler(Pool& pool, Floors& floors, KnownIds& ids) : pool_(pool), floors_(floors), ids_(ids) {}

  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements);

 private:
  Pool& pool_;
  Floors& floors_;
  KnownIds& ids_;
};

}  // namespace horae::postgres
