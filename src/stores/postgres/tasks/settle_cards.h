// The tasks of a batch of settlements: what the batch does to each of them, and the writes that follow from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/effect.h"
#include "stores/postgres/connection/connection.h"
#include "stores/postgres/layout/look_up.h"
#include "stores/postgres/layout/places.h"

namespace horae::postgres {

// One task of the batch: its state, and what the batch has done to it so far.
struct Card {
  std::int64_t number = 0;
  const RunningRange* lease = nullptr;  // of the task while it was running at the beginning
  Standing standing;
  std::optional<Effect> effect;       // of the newest event that was accepted
  std::optional<Duration> length;     // of the lease, if the batch extended it
  std::optional<std::string> result;  // as brought in this batch
  std::vector<TaskError> errors;      // as brought in this batch

  // Read only if the task may be scheduled again.
  RetryPolicy retry;
  int priority = 0;

  std::optional<double> progress;         // as reported in this batch
  std::optional<std::string> checkpoint;  // as reported in this batch
  std::optional<double> stored_progress;  // as it was before; read only for a yield

  bool is_extended() const { return effect && effect->state == State::kRunning; }
};

struct WrittenCards {
  std::vector<ReadyRange> ready;  // the ranges that become ready
  Tickets leases;                 // of what stays leased, for LeaseEnds
};

// Sends the changes to cards that have a lease, which the transaction has locked.
WrittenCards write_cards(Transaction& transaction, const std::vector<const Card*>& cards);

}  // namespace horae::postgres
