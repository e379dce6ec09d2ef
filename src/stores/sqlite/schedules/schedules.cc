#include "stores/sqlite/schedules/schedules.h"

#include "model/schedule_text.h"
#include "store/queue_store.h"
#include "stores/sqlite/statements.h"

namespace horae::sqlite {
namespace {

Result<Schedule> read_schedule(const Statement& row) {
  auto definition = schedule_of(row.text(0), row.small(1) != 0, row.text(2));
  if (!definition.ok()) return definition.error();
  return Schedule{.definition = std::move(*definition),
                  .version = row.uuid(3),
                  .created_at = row.instant(4),
                  .updated_at = row.instant(5),
                  .handled_until = row.instant(6),
                  .next_at = row.optional_instant(7),
                  .tzdata = row.text(8),
                  .last_task = row.is_null(9) ? std::nullopt : std::optional(row.uuid(9))};
}

std::optional<Instant> first_step(const NewSchedule& schedule, Instant now) {
  return schedule.paused ? std::nullopt : std::optional(now);
}

}  // namespace

Schedules::Schedules(Writer& writer)
    : writer_(writer),
      lives_(writer),
      submitter_(writer),
      effects_(writer, lives_),
      settler_(lives_, effects_),
      get_(writer.database(), statement("schedules_get")),
      list_(writer.database(), statement("schedules_list")),
      due_(writer.database(), statement("schedules_due")),
      count_(writer.database(), statement("schedules_count")),
      insert_(writer.database(), statement("schedules_insert")),
      update_(writer.database(), statement("schedules_update")),
      step_(writer.database(), statement("schedules_step")),
      last_task_(writer.database(), statement("schedules_last_task")),
      task_state_(writer.database(), statement("schedules_task_state")),
      remove_(writer.database(), statement("schedules_remove")),
      remove_fires_(writer.database(), statement("schedules_remove_fires")),
      recompute_(writer.database(), statement("schedules_recompute")),
      insert_fire_(writer.database(), statement("schedules_insert_fire")),
      fires_(writer.database(), statement("schedules_fires")),
      forget_fires_(writer.database(), statement("schedules_forget_fires")) {}

std::vector<Schedule> Schedules::read_all(Statement& rows) {
  std::vector<Schedule> all;
  while (rows.next()) {
    auto schedule = read_schedule(rows);
    if (schedule.ok()) {
      all.push_back(std::move(*schedule));
    } else {
      writer_.database().fail(schedule.error());
    }
  }
  return all;
}

std::optional<Schedule> Schedules::find(std::string_view name) {
  auto found = read_all(get_.start(name));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

Result<PutOutcome> Schedules::put(const NewSchedule& schedule, const Uuid& version,
                                  const std::optional<Uuid>& expected) {
  return writer_.transact<PutOutcome>([&](Change& change) { return put_one(schedule, version, expected, change); });
}

PutOutcome Schedules::put_one(const NewSchedule& schedule, const Uuid& version, const std::optional<Uuid>& expected,
                              const Change& change) {
  auto old = find(schedule.name);
  if (expected && (!old || old->version != *expected)) return {PutOutcome::Kind::kMismatch, std::move(old)};
  if (old && old->definition == schedule) return {PutOutcome::Kind::kUnchanged, std::move(old)};
  if (!old) {
    const bool is_full = count_.start().next() && static_cast<std::size_t>(count_.integer(0)) >= kMaxSchedules;
    count_.finish();
    if (is_full) return {PutOutcome::Kind::kOverLimit, std::nullopt};
  }
  Statement& write = old ? update_ : insert_;
  write.run(schedule.name, schedule.task.queue, to_text(schedule), schedule.paused, version, change.now(),
            first_step(schedule, change.now()));
  return {old ? PutOutcome::Kind::kChanged : PutOutcome::Kind::kCreated, find(schedule.name)};
}

Result<bool> Schedules::remove(std::string_view name, const std::optional<Uuid>& expected) {
  return writer_.transact<bool>([&](Change&) {
    const auto old = find(name);
    if (!old || (expected && old->version != *expected)) return false;
    remove_.run(name);
    remove_fires_.run_any(name);
    return true;
  });
}

Result<std::optional<Schedule>> Schedules::get(std::string_view name) {
  return writer_.transact<std::optional<Schedule>>([&](Change&) { return find(name); });
}

Result<std::vector<Schedule>> Schedules::list(std::string_view after, std::size_t limit) {
  return writer_.transact<std::vector<Schedule>>([&](Change&) { return read_all(list_.start(after, limit)); });
}

Result<DueSchedules> Schedules::due(std::size_t max) {
  return writer_.transact<DueSchedules>(
      [&](Change& change) { return due_of(change.now(), read_all(due_.start(max + 1)), max); });
}

Result<std::vector<StepOutcome>> Schedules::step(std::span<const ScheduleStep> steps) {
  if (auto checked = check_schedule_steps(steps); !checked.ok()) return checked.error();
  return writer_.transact<std::vector<StepOutcome>>([&](Change& change) {
    std::vector<StepOutcome> outcomes;
    for (const ScheduleStep& each : steps) outcomes.push_back(step_one(each, change));
    return outcomes;
  });
}

StepOutcome Schedules::step_one(const ScheduleStep& step, Change& change) {
  const bool is_taken =
      step_.run_any(step.name, step.version, step.seen, step.until, step.next_at, step.tzdata, change.now()) > 0;
  if (!is_taken) return {.kind = StepOutcome::Kind::kStale};
  StepOutcome outcome;
  if (step.skipped) {
    const auto& [first, last, count, reason] = *step.skipped;
    outcome.fires.push_back({first, last, count, std::nullopt, reason});
  }
  const auto previous = live_task_of(step.name);
  const Overlapping judged = judge_overlap(step.overlap, step.fires.size(), previous.has_value());
  if (judged.cancels_previous) {
    const CancelWish wish{.id = *previous, .reason = "the next fire of schedule " + step.name};
    (void)settler_.cancel(std::span(&wish, 1), change);
    outcome.cancelled = previous;
  }
  for (std::size_t i = 0; i < step.fires.size(); ++i) {
    const bool skipped = i < judged.first || i >= judged.first + judged.count;
    outcome.fires.push_back(fire(step, step.fires[i], skipped, outcome, change));
  }
  for (const FireRecord& each : outcome.fires) record(step.name, each);
  return outcome;
}

FireRecord Schedules::fire(const ScheduleStep& step, const FireOrder& order, bool skipped, StepOutcome& outcome,
                           Change& change) {
  FireRecord made{.at = order.at, .last = order.at, .task = std::nullopt, .skipped = SkipReason::kOverlap};
  if (skipped) return made;
  const SubmitOutcome submitted = submitter_.submit(std::span(&order.submission, 1), change).front();
  if (submitted.kind != SubmitOutcome::Kind::kCreated) {
    made.skipped = SkipReason::kQueueLimit;
    return made;
  }
  last_task_.run(step.name, submitted.id);
  outcome.tasks.push_back(submitted);
  made.task = submitted.id;
  made.skipped.reset();
  return made;
}

std::optional<TaskId> Schedules::live_task_of(std::string_view name) {
  std::optional<TaskId> task;
  if (task_state_.start(name).next() && !is_terminal(static_cast<State>(task_state_.small(1)))) {
    task = task_state_.uuid(0);
  }
  task_state_.finish();
  return task;
}

void Schedules::record(std::string_view name, const FireRecord& fire) {
  insert_fire_.run(name, fire.at, fire.last, fire.count, fire.task, fire.skipped);
}

Result<std::size_t> Schedules::recompute(std::string_view tzdata) {
  return writer_.transact<std::size_t>(
      [&](Change& change) { return static_cast<std::size_t>(recompute_.run_any(tzdata, change.now())); });
}

Result<std::vector<FireRecord>> Schedules::fires(std::string_view name, Instant before, std::size_t limit) {
  return writer_.transact<std::vector<FireRecord>>([&](Change&) {
    std::vector<FireRecord> fires;
    fires_.start(name, before, limit);
    while (fires_.next()) {
      fires.push_back(
          {.at = fires_.instant(0),
           .last = fires_.instant(1),
           .count = fires_.integer(2),
           .task = fires_.is_null(3) ? std::nullopt : std::optional(fires_.uuid(3)),
           .skipped = fires_.is_null(4) ? std::nullopt : std::optional(static_cast<SkipReason>(fires_.small(4)))});
    }
    return fires;
  });
}

Result<std::size_t> Schedules::forget_fires(std::size_t max) {
  return writer_.transact<std::size_t>([&](Change& change) {
    return static_cast<std::size_t>(forget_fires_.run_any(change.now(), max, kDefaultRetention));
  });
}

}  // namespace horae::sqlite
