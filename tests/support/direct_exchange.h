// The exchange of a dispatcher without a combiner and its thread: one call of the store, made at once.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "engine/slots/exchange.h"
#include "store/task_store.h"

namespace horae::testing {

inline Exchange exchange_with(TaskStore& tasks) {
  return [&tasks](const std::vector<Settlement>& settlements, const std::optional<ClaimWish>& wish,
                  const std::function<void(Exchanged)>& done) {
    const std::vector<ClaimWish> wishes = wish ? std::vector{*wish} : std::vector<ClaimWish>();
    auto outcome = tasks.exchange({.settlements = settlements, .submissions = {}, .wishes = wishes});
    if (!outcome.ok()) {
      const std::vector<Result<SettleOutcome>> none(settlements.size(), outcome.error());
      return done({.settled = none, .leased = outcome.error()});
    }
    Exchanged exchanged;
    for (SettleOutcome& each : outcome->settled) exchanged.settled.emplace_back(std::move(each));
    if (wish) exchanged.leased = std::move(outcome->leased.front());
    done(std::move(exchanged));
  };
}

}  // namespace horae::testing
