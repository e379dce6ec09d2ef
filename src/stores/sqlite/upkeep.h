// The calls of the engine's loops: promotion, expiry of leases, purging.
#pragma once

#include <optional>

#include "store/task_store.h"
#include "stores/sqlite/effects.h"
#include "stores/sqlite/life.h"
#include "stores/sqlite/purge.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

class Upkeep {
 public:
  Upkeep(Writer& writer, Lives& lives, Effects& effects);

  Result<PromoteOutcome> promote_due(std::size_t max);
  Result<Watch> look();
  Result<bool> extend_leases(const std::optional<Instant>& seen);
  Result<ExpireOutcome> expire_leases(const ExpireWish& wish);
  Result<PurgeOutcome> purge(std::size_t max);

 private:
  struct Due {
    std::int64_t number = 0;
    std::int64_t queue = 0;
    int priority = 0;
    std::string queue_name;
  };

  std::optional<Instant> stamp();
  bool has_leases();
  bool extend_out_of_sight(Instant last, Duration slack, const Change& change);  // true if there were any
  ExpiredLease expire_one(std::int64_t number, Change& change);
  PurgeOutcome purge_tasks(std::size_t max, Change& change);
  bool forget_old_tokens(std::size_t max, const Change& change);  // true if there are more

  Writer& writer_;
  Lives& lives_;
  Effects& effects_;
  Purger purger_;
  Statement due_;
  Statement next_due_;
  Statement promote_;
  Statement stamp_;
  Statement set_stamp_;
  Statement first_expiry_;
  Statement extend_;
  Statement extend_out_of_sight_;
  Statement overdue_;
  Statement name_;
  Statement retentions_;
  Statement forget_queues_;
  Statement old_tokens_;
  Statement forget_token_;
};

}  // namespace horae::sqlite
