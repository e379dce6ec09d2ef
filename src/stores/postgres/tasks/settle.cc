#include "stores/postgres/tasks/settle.h"

#include <utility>

#include "stores/postgres/tasks/settle_batch.h"

namespace horae::postgres {

Result<std::vector<SettleOutcome>> Settler::settle(std::span<const Settlement> settlements) {
  if (settlements.empty()) return std::vector<SettleOutcome>();
  const auto changes = changes_of(settlements, known_, names_);
  if (!changes) return settle_any(settlements);
  auto outcomes = pool_.transact_in_one_trip<Outcomes>(
      [&](Transaction& transaction) -> Result<Outcomes> {
        const KnownSettlements known(transaction, settlements, *changes);
        if (auto done = transaction.commit(); !done.ok()) return done.error();
        return known.read(known_);
      },
      Repeat::kAlways);  // the second time the leases are gone
  if (!outcomes.ok()) return outcomes.error();
  return settle_rest(settlements, std::move(*outcomes));
}

Result<std::vector<SettleOutcome>> Settler::settle_rest(std::span<const Settlement> settlements, Outcomes outcomes) {
  std::vector<Settlement> rest;
  std::vector<SettleOutcome> all;
  all.reserve(settlements.size());
  for (std::size_t i = 0; i < settlements.size(); ++i) {
    if (!outcomes[i]) rest.push_back(settlements[i]);
    all.push_back(outcomes[i] ? std::move(*outcomes[i]) : SettleOutcome());
  }
  if (rest.empty()) return all;
  auto settled = settle_any(rest);
  if (!settled.ok()) {
    return rest.size() == settlements.size() ? settled.error() : unknown_outcome(settled.error());
  }
  for (std::size_t i = 0, next = 0; i < settlements.size(); ++i) {
    if (!outcomes[i]) all[i] = std::move((*settled)[next++]);
  }
  return all;
}

Result<std::vector<SettleOutcome>> Settler::settle_any(std::span<const Settlement> settlements) {
  const bool is_confirmed = known_.confirm(settlements);
  return pool_.transact<std::vector<SettleOutcome>>(
      [&](Transaction& transaction) -> Result<std::vector<SettleOutcome>> {
        SettleBatch batch(transaction, settlements, is_confirmed);
        if (!batch.send()) return transaction.failure()->error;
        if (auto done = transaction.commit(); !done.ok()) return done.error();
        return batch.read(floors_);
      },
      Repeat::kAlways);  // by the attempts
}

}  // namespace horae::postgres
