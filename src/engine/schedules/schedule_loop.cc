#include "engine/schedules/schedule_loop.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace horae {
namespace {

constexpr std::size_t kMostForgotten = 1'000;

// Another node took all steps; what it left is due soon, or not now.
constexpr Duration kAfterAnother = std::chrono::milliseconds(20);

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

ScheduleLoop::ScheduleLoop(ScheduleStore& schedules, UuidSource& ids, const ZoneDatabase& zones, Logger log,
                           ScheduleLoopOptions options, Meter& meter)
    : schedules_(schedules),
      ids_(ids),
      zones_(zones),
      log_(std::move(log)),
      options_(options),
      meter_(meter),
      fires_(meter.counter({"horae_schedule_fires_total", "Fires of schedules that became tasks"})),
      lateness_(meter.histogram({"horae_schedule_lateness_seconds", "From the time of a fire to its task"},
                                kSecondsBuckets)) {}

MonotonicTime ScheduleLoop::run_once(MonotonicTime now) {
  if (!recompute_once()) return now + options_.retry;
  forget_old_records(now);
  const auto due = schedules_.due(options_.batch);
  if (!due.ok()) {
    log_.warn("cannot look for due schedules", {{"reason", due.error().message}});
    return now + options_.retry;
  }
  const auto next = now + std::min(options_.poll, due->next_in.value_or(options_.poll));
  if (due->schedules.empty()) return next;

  bool is_complete = true;
  const std::vector<ScheduleStep> steps = steps_of(*due, is_complete);
  if (steps.empty()) return now + options_.retry;
  const auto outcomes = schedules_.step(steps);
  if (!outcomes.ok()) {
    log_.warn("cannot fire schedules", {{"reason", outcomes.error().message}});
    return now + options_.retry;
  }
  count(steps, *outcomes);
  // The dates that the steps brought are not in next_in: another look finds the earliest.
  const bool is_done =
      std::ranges::any_of(*outcomes, [](const StepOutcome& each) { return each.kind == StepOutcome::Kind::kDone; });
  if (!is_done) return now + kAfterAnother;
  return is_complete ? now : now + options_.retry;
}

bool ScheduleLoop::recompute_once() {
  if (has_recomputed_) return true;
  const auto changed = schedules_.recompute(zones_.version());
  if (!changed.ok()) {
    log_.warn("cannot compute the dates of schedules anew", {{"reason", changed.error().message}});
    return false;
  }
  has_recomputed_ = true;
  if (*changed > 0) {
    log_.info("dates of schedules are computed anew by another time zone database",
              {{"tzdata", zones_.version()}, {"schedules", std::to_string(*changed)}});
  }
  return true;
}

void ScheduleLoop::forget_old_records(MonotonicTime now) {
  if (forgot_at_ && now - *forgot_at_ < options_.forget_interval) return;
  forgot_at_ = now;
  known_.clear();  // of schedules that do not exist any more
  const auto forgotten = schedules_.forget_fires(kMostForgotten);
  if (!forgotten.ok()) {
    log_.warn("cannot remove old records of fires", {{"reason", forgotten.error().message}});
  } else if (*forgotten == kMostForgotten) {
    forgot_at_.reset();
  }
}

// Null if this node cannot read its rules: another one, with a newer database or program, may.
const Timetable* ScheduleLoop::timetable_of(const Schedule& schedule) {
  const std::string& name = schedule.definition.name;
  const auto known = known_.find(name);
  if (known != known_.end() && known->second.version == schedule.version) return &known->second.timetable;
  auto made = Timetable::make(schedule.definition.rules, zones_);
  if (!made.ok()) {
    log_.warn("cannot fire a schedule", {{"schedule", name}, {"reason", made.error().message}});
    return nullptr;
  }
  return &known_.insert_or_assign(name, Known{schedule.version, std::move(*made)}).first->second.timetable;
}

ScheduleStep ScheduleLoop::step_of(const Schedule& schedule, const Timetable& timetable, Instant now) {
  const NewSchedule& definition = schedule.definition;
  const Instant until = std::max(now, schedule.handled_until);  // the store's clock may have stepped back
  FirePlan plan = plan_fires(definition.name, definition.rules, timetable,
                             schedule.handled_until + std::chrono::microseconds(1), until);
  ScheduleStep step{.name = definition.name,
                    .version = schedule.version,
                    .seen = schedule.handled_until,
                    .until = until,
                    .overlap = definition.rules.overlap,
                    .fires = {},
                    .skipped = plan.skipped,
                    .next_at = plan.next_at,
                    .tzdata = zones_.version()};
  std::shared_ptr<const QueueAllowance> allowance;
  if (definition.maker) {
    allowance = std::make_shared<const QueueAllowance>(
        QueueAllowance{*definition.maker, static_cast<std::size_t>(definition.maker_queues)});
  }
  for (const Fire& fire : plan.fires) {
    FireOrder order{fire.at, {.task = definition.task, .new_id = ids_.next()}};
    order.submission.task.run_at = fire.run_at;
    order.submission.allowance = allowance;
    step.fires.push_back(std::move(order));
  }
  return step;
}

// As many as one call may bring. `is_complete`: none of those that are due is left out because it cannot be read.
std::vector<ScheduleStep> ScheduleLoop::steps_of(const DueSchedules& due, bool& is_complete) {
  std::vector<ScheduleStep> steps;
  std::size_t fires = 0;
  for (const Schedule& schedule : due.schedules) {
    const Timetable* const timetable = timetable_of(schedule);
    if (timetable == nullptr) {
      is_complete = false;
      continue;
    }
    ScheduleStep step = step_of(schedule, *timetable, due.now);
    fires += step.fires.size();
    if (fires > kMaxFiresOfACall && !steps.empty()) break;
    steps.push_back(std::move(step));
  }
  return steps;
}

void ScheduleLoop::count(const std::vector<ScheduleStep>& steps, const std::vector<StepOutcome>& outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    for (const FireRecord& fire : outcomes[i].fires) {
      if (fire.task) {
        fires_.add();
        lateness_.record(seconds_of(steps[i].until - fire.at));
        continue;
      }
      const std::string_view reason = to_string(fire.skipped.value_or(SkipReason::kMissed));
      meter_.counter({"horae_schedule_skips_total", "Fires of schedules that became no task"}, {{"reason", reason}})
          .add(static_cast<double>(fire.count));
    }
  }
}

}  // namespace horae
