// Settlements, submissions and claims in one transaction: one round trip and one commit for all of them, as long as
// nothing has to be looked up first.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "store/bundle.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/cache/known_tasks.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/tasks/claim.h"
#include "stores/postgres/tasks/settle.h"
#include "stores/postgres/tasks/settle_whole.h"
#include "stores/postgres/tasks/submit.h"

namespace horae::postgres {

// Lock order: running ranges in the order of their numbers; ids, for which it waits only for transactions that store
// the same ones; and ready ranges, for which it never waits. No transaction waits for a running range while it holds
// one of the later locks, so exchanges cannot deadlock.
//
// Thread-safe.
class Exchanger {
 public:
  Exchanger(Pool& pool, Settler& settler, Submitter& submitter, Claimer& claimer, Floors& floors, KnownTasks& known)
      : pool_(pool), settler_(settler), submitter_(submitter), claimer_(claimer), floors_(floors), known_(known) {}

  // As TaskStore::exchange(); the calls are checked.
  Result<BundleOutcome> exchange(const Bundle& calls);

 private:
  // What can go into one transaction; what cannot is done by itself.
  struct Parts {
    std::optional<std::vector<WholeLease>> leases;
    std::optional<std::vector<NewEntry>> entries;
    std::unique_ptr<ClaimPart> claim;

    bool are_several() const { return leases.has_value() + entries.has_value() + (claim != nullptr) > 1; }
  };

  // What was done so far.
  struct Done {
    std::optional<std::vector<SettleOutcome>> settled;
    std::optional<std::vector<SubmitOutcome>> submitted;
    std::optional<Claimed> leased;
  };

  Result<Parts> prepare(const Bundle& calls);
  Result<void> do_all(const Bundle& calls, Parts& parts, Done& done);
  Result<void> settle(const Bundle& calls, Done& done);
  Result<void> submit(const Bundle& calls, Done& done);
  Result<void> claim(const Bundle& calls, Done& done);
  Result<void> do_together(const Bundle& calls, Parts& parts, Done& done);

  Pool& pool_;
  Settler& settler_;
  Submitter& submitter_;
  Claimer& claimer_;
  Floors& floors_;
  KnownTasks& known_;
};

}  // namespace horae::postgres
