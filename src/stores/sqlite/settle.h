// Settlements of owners, and cancels of clients.
#pragma once

#include <cstdint>
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
  SettleOutcome settle_one(const Settlement& settlement, Change& change, LateResultsByTask& late);
  void keep(LateResultsByTask& late, std::int64_t number, const Change& change);
  CancelOutcome cancel_one(const CancelWish& wish, Change& change);

  Lives& lives_;
  Effects& effects_;
};

}  // namespace horae::sqlite
