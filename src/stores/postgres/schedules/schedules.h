// Schedules and their fires.
#pragma once

#include <span>
#include <vector>

#include "store/schedule_store.h"
#include "stores/postgres/cache/database_identity.h"
#include "stores/postgres/cache/floors.h"
#include "stores/postgres/cache/known_tasks.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/tasks/submit.h"

namespace horae::postgres {

class Schedules final : public ScheduleStore {
 public:
  Schedules(Pool& pool, DatabaseIdentity& database, Submitter& submitter, KnownTasks& known, Floors& floors)
      : pool_(pool), database_(database), submitter_(submitter), known_(known), floors_(floors) {}

  Result<PutOutcome> put(const NewSchedule& schedule, const Uuid& version,
                         const std::optional<Uuid>& expected) override;
  Result<bool> remove(std::string_view name, const std::optional<Uuid>& expected) override;
  Result<std::optional<Schedule>> get(std::string_view name) override;
  Result<std::vector<Schedule>> list(std::string_view after, std::size_t limit) override;
  Result<DueSchedules> due(std::size_t max) override;
  Result<std::vector<StepOutcome>> step(std::span<const ScheduleStep> steps) override;
  Result<std::size_t> recompute(std::string_view tzdata) override;
  Result<std::vector<FireRecord>> fires(std::string_view name, Instant before, std::size_t limit) override;
  Result<std::size_t> forget_fires(std::size_t max) override;

 private:
  Result<std::vector<StepOutcome>> step_all(std::span<const ScheduleStep> steps);

  Pool& pool_;
  DatabaseIdentity& database_;
  Submitter& submitter_;
  KnownTasks& known_;
  Floors& floors_;
};

}  // namespace horae::postgres
