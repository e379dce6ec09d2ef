// Cancels tasks in any state.
#pragma once

#include <span>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

// Thread-safe.
class Canceller {
 public:
  Canceller(Pool& pool, Floors& floors) : pool_(pool), floors_(floors) {}

  Result<std::vector<CancelOutcome>> cancel(std::span<const CancelWish> wishes);

 private:
  Pool& pool_;
  Floors& floors_;
};

}  // namespace horae::postgres
