// The model store: schedules and their fires.

#include <algorithm>

#include "tests/store_contract/model_store.h"

namespace horae::testing {
namespace {

std::optional<TaskId> live_task_of(Model& model, const Schedule& schedule) {
  const ModelTask* held = schedule.last_task ? model.find_task(*schedule.last_task) : nullptr;
  return held && !is_terminal(held->task.state) ? schedule.last_task : std::nullopt;
}

StepOutcome step_one(Model& model, const ScheduleStep& step) {
  const auto found = model.schedules.find(step.name);
  if (found == model.schedules.end()) return {.kind = StepOutcome::Kind::kStale};
  Schedule& schedule = found->second.schedule;
  const bool is_as_seen = schedule.version == step.version && schedule.handled_until == step.seen;
  if (!is_as_seen || schedule.definition.paused || step.until > model.now()) return {.kind = StepOutcome::Kind::kStale};

  StepOutcome outcome;
  schedule.handled_until = step.until;
  schedule.next_at = step.next_at;
  schedule.tzdata = step.tzdata;
  if (step.skipped) {
    outcome.fires.push_back(
        {step.skipped->first, step.skipped->last, step.skipped->count, std::nullopt, step.skipped->reason});
  }
  const auto previous = live_task_of(model, schedule);
  const Overlapping judged = judge_overlap(step.overlap, step.fires.size(), previous.has_value());
  if (judged.cancels_previous) {
    (void)cancel_one(model, {.id = *previous, .reason = "the next fire of schedule " + step.name});
    outcome.cancelled = previous;
  }
  for (std::size_t i = 0; i < step.fires.size(); ++i) {
    FireRecord fire{.at = step.fires[i].at, .last = step.fires[i].at, .task = std::nullopt, .skipped = std::nullopt};
    if (i < judged.first || i >= judged.first + judged.count) {
      fire.skipped = SkipReason::kOverlap;
    } else if (const auto made = submit_one(model, step.fires[i].submission);
               made.kind == SubmitOutcome::Kind::kCreated) {
      fire.task = schedule.last_task = made.id;
      outcome.tasks.push_back(made);
    } else {
      fire.skipped = SkipReason::kQueueLimit;
    }
    outcome.fires.push_back(fire);
  }
  for (const FireRecord& fire : outcome.fires) found->second.fires.emplace(fire.at, fire);
  return outcome;
}

}  // namespace

Result<PutOutcome> ModelScheduleStore::put(const NewSchedule& schedule, const Uuid& version,
                                           const std::optional<Uuid>& expected) {
  const std::lock_guard lock(model_.mutex);
  const auto found = model_.schedules.find(schedule.name);
  const bool exists = found != model_.schedules.end();
  const auto old = exists ? std::optional(found->second.schedule) : std::nullopt;
  if (expected && (!old || old->version != *expected)) return PutOutcome{PutOutcome::Kind::kMismatch, old};
  if (old && old->definition == schedule) return PutOutcome{PutOutcome::Kind::kUnchanged, old};
  if (!old && model_.schedules.size() >= kMaxSchedules) return PutOutcome{PutOutcome::Kind::kOverLimit, std::nullopt};
  const Instant now = model_.now();
  Schedule& made = model_.schedules[schedule.name].schedule;
  if (!old) made.created_at = now;
  made.definition = schedule;
  made.version = version;
  made.updated_at = now;
  made.handled_until = std::max(made.handled_until, now);
  made.next_at = schedule.paused ? std::nullopt : std::optional(made.handled_until);
  made.tzdata = "";
  return PutOutcome{old ? PutOutcome::Kind::kChanged : PutOutcome::Kind::kCreated, made};
}

Result<bool> ModelScheduleStore::remove(std::string_view name, const std::optional<Uuid>& expected) {
  const std::lock_guard lock(model_.mutex);
  const auto found = model_.schedules.find(name);
  if (found == model_.schedules.end()) return false;
  if (expected && found->second.schedule.version != *expected) return false;
  model_.schedules.erase(found);
  return true;
}

Result<std::optional<Schedule>> ModelScheduleStore::get(std::string_view name) {
  const std::lock_guard lock(model_.mutex);
  const auto found = model_.schedules.find(name);
  return found == model_.schedules.end() ? std::nullopt : std::optional(found->second.schedule);
}

Result<std::vector<Schedule>> ModelScheduleStore::list(std::string_view after, std::size_t limit) {
  const std::lock_guard lock(model_.mutex);
  std::vector<Schedule> all;
  for (auto each = model_.schedules.upper_bound(after); each != model_.schedules.end() && all.size() < limit; ++each) {
    all.push_back(each->second.schedule);
  }
  return all;
}

Result<DueSchedules> ModelScheduleStore::due(std::size_t max) {
  const std::lock_guard lock(model_.mutex);
  std::vector<Schedule> timed;
  for (const auto& [name, held] : model_.schedules) {
    if (held.schedule.next_at) timed.push_back(held.schedule);
  }
  std::ranges::stable_sort(timed, {}, [](const Schedule& each) { return *each.next_at; });
  return due_of(model_.now(), std::move(timed), max);
}

Result<std::vector<StepOutcome>> ModelScheduleStore::step(std::span<const ScheduleStep> steps) {
  if (auto checked = check_schedule_steps(steps); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  std::vector<StepOutcome> outcomes;
  for (const ScheduleStep& each : steps) outcomes.push_back(step_one(model_, each));
  return outcomes;
}

Result<std::size_t> ModelScheduleStore::recompute(std::string_view tzdata) {
  const std::lock_guard lock(model_.mutex);
  std::size_t count = 0;
  for (auto& [name, held] : model_.schedules) {
    Schedule& schedule = held.schedule;
    const Instant soonest = std::max(schedule.handled_until, model_.now());
    if (!schedule.next_at || *schedule.next_at <= soonest || schedule.tzdata >= tzdata) continue;
    schedule.next_at = soonest;
    ++count;
  }
  return count;
}

Result<std::vector<FireRecord>> ModelScheduleStore::fires(std::string_view name, Instant before, std::size_t limit) {
  const std::lock_guard lock(model_.mutex);
  const auto found = model_.schedules.find(name);
  std::vector<FireRecord> fires;
  if (found == model_.schedules.end()) return fires;
  for (const auto& [at, fire] : found->second.fires) {
    if (at < before) fires.insert(fires.begin(), fire);
  }
  fires.resize(std::min(fires.size(), limit));
  return fires;
}

Result<std::size_t> ModelScheduleStore::forget_fires(std::size_t max) {
  const std::lock_guard lock(model_.mutex);
  std::size_t count = 0;
  for (auto& [name, held] : model_.schedules) {
    const auto queue = model_.queues.find(held.schedule.definition.task.queue);
    const Duration retention = queue == model_.queues.end() ? kDefaultRetention : queue->second.settings.retention;
    const auto is_old = [&](const auto& fire) { return after(fire.second.last, retention) < model_.now(); };
    for (auto each = held.fires.begin(); each != held.fires.end() && count < max;) {
      if (!is_old(*each)) break;
      each = held.fires.erase(each);
      ++count;
    }
  }
  return count;
}

}  // namespace horae::testing
