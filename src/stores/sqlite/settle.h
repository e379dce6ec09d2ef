// Settlements of owners, and cancels of clients.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "store/lease.h"
#include "stores/sqlite/effects.h"
#include "stores/sqlite/life.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

class Settler {
 public:
  Settler(Lives& lives, Effects& effects) : lives_(lives), effects_(effects) {}

  // Inside a transaction.
  std::vector<SettleOutcome> settle(std::span<const Settlement> settlements, Change& change);
  std::vector<CancelOutcome> cancel(std::span<const CancelWish> wishes, Change& change);

 private:
  // The refused results of one task that are to be kept in its history.
  struct Refused {
    Life life;
    std::vector<LateResult> results;
  };
  using RefusedByTask = std::map<std::int64_t, Refused>;

  SettleOutcome settle_one(const Settlement& settlement, Change& change, RefusedByTask& refused);
  void keep(RefusedByTask& refused, std::int64_t number, const Change& change);
  CancelOutcome cancel_one(const CancelWish& wish, Change& change);

  Lives& lives_;
  Effects& effects_;
};

}  // namespace horae::sqlite
