// Cancels tasks in any state.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

// Cancels tasks within a transaction that does something else as well.
class Cancellation {
 public:
  // The wishes outlive it.
  Cancellation(Transaction& transaction, std::span<const CancelWish> wishes);
  ~Cancellation();

  // Locks and sends; one outcome for each wish. Nothing after a failure.
  std::optional<std::vector<CancelOutcome>> run();

  // After the commit.
  void lower(Floors& floors) const;

 private:
  class Batch;
  std::unique_ptr<Batch> batch_;
  std::size_t wishes_;
};

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
