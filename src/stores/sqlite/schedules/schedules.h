// Schedules and their fires.
#pragma once

#include "store/schedule_store.h"
#include "stores/sqlite/effects.h"
#include "stores/sqlite/life.h"
#include "stores/sqlite/settle.h"
#include "stores/sqlite/submit.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

class Schedules final : public ScheduleStore {
 public:
  explicit Schedules(Writer& writer);

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
  // Inside a transaction.
  std::optional<Schedule> find(std::string_view name);
  std::vector<Schedule> read_all(Statement& rows);
  PutOutcome put_one(const NewSchedule& schedule, const Uuid& version, const std::optional<Uuid>& expected,
                     const Change& change);
  StepOutcome step_one(const ScheduleStep& step, Change& change);
  FireRecord fire(const ScheduleStep& step, const FireOrder& order, bool skipped, StepOutcome& outcome, Change& change);
  std::optional<TaskId> live_task_of(std::string_view name);
  void record(std::string_view name, const FireRecord& fire);

  Writer& writer_;
  Lives lives_;
  Submitter submitter_;
  Effects effects_;
  Settler settler_;
  Statement get_;
  Statement list_;
  Statement due_;
  Statement count_;
  Statement insert_;
  Statement update_;
  Statement step_;
  Statement last_task_;
  Statement task_state_;
  Statement remove_;
  Statement remove_fires_;
  Statement recompute_;
  Statement insert_fire_;
  Statement fires_;
  Statement forget_fires_;
};

}  // namespace horae::sqlite
