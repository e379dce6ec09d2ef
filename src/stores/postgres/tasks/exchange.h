// Settlements, submissions and claims in one transaction and one commit; and in one round trip, as long as nothing has to
// be looked up first.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "store/bundle.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/cache/known_tasks.h"
#include "stores/postgres/cache/queue_names.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/tasks/claim.h"
#include "stores/postgres/tasks/insertion.h"
#include "stores/postgres/tasks/settle.h"
#include "stores/postgres/tasks/settle_known.h"
#include "stores/postgres/tasks/submit.h"

namespace horae::postgres {

// Lock order: running ranges in the order of their numbers; ids, for which it waits only for transactions that store
// the same ones; and tokens and ready ranges, for which it never waits. No transaction waits for a running range while it
// holds one of the later locks, so exchanges cannot deadlock.
//
// Thread-safe.
class Exchanger {
 public:
  Exchanger(Pool& pool, QueueNames& names, Settler& settler, Submitter& submitter, Claimer& claimer, Floors& floors,
            KnownTasks& known)
      : pool_(pool),
        names_(names),
        settler_(settler),
        submitter_(submitter),
        claimer_(claimer),
        floors_(floors),
        known_(known) {}

  // As TaskStore::exchange(); the calls are checked.
  Result<BundleOutcome> exchange(const Bundle& calls);

 private:
  // What goes into one transaction.
  struct Parts {
    std::optional<LeaseChanges> changes;  // of the settlements; if there are none, they take several round trips
    bool settles = false;
    std::optional<std::vector<NewEntry>> entries;  // nothing: the submissions have a transaction of their own
    std::optional<ClaimPart> claim;

    int count() const { return settles + entries.has_value() + claim.has_value(); }
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
  std::pair<Insertion::Begin, FreshTasks> place_fresh(const Parts& parts) const;

  Pool& pool_;
  QueueNames& names_;
  Settler& settler_;
  Submitter& submitter_;
  Claimer& claimer_;
  Floors& floors_;
  KnownTasks& known_;
};

}  // namespace horae::postgres
