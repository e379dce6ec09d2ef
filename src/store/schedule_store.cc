#include "store/schedule_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/quote.h"
#include "store/batches.h"

namespace horae {
namespace {

Error contradiction(const ScheduleStep& step, std::string_view what) {
  return {ErrorCode::kRefused, fmt::format("schedule {}: {}", quote(step.name), what)};
}

}  // namespace

DueSchedules due_of(Instant now, std::vector<Schedule> first_ones, std::size_t max) {
  DueSchedules due{.now = now, .schedules = std::move(first_ones), .next_in = std::nullopt};
  std::size_t count = 0;
  while (count < due.schedules.size() && count < max && *due.schedules[count].next_at <= now) ++count;
  if (count < due.schedules.size()) {
    due.next_in = std::max<Duration>(Duration::zero(), *due.schedules[count].next_at - now);
  }
  due.schedules.resize(count);
  return due;
}

Result<void> check_schedule_step(const ScheduleStep& step) {
  if (step.until < step.seen) return contradiction(step, "until lies before what was handled");
  if (step.next_at && *step.next_at <= step.seen) return contradiction(step, "the next date was handled already");
  Instant last = step.seen;
  if (step.skipped) {
    if (step.skipped->first <= last || step.skipped->last < step.skipped->first || step.skipped->last > step.until) {
      return contradiction(step, "the skipped fires lie outside of the step");
    }
    last = step.skipped->last;
  }
  for (const FireOrder& fire : step.fires) {
    if (fire.at <= last || fire.at > step.until) return contradiction(step, "its fires do not ascend within the step");
    last = fire.at;
    if (fire.submission.task.id || fire.submission.task.key || fire.submission.start) {
      return contradiction(step, "the task of a fire has no id, key or start of its own");
    }
    if (auto checked = check_submission(fire.submission); !checked.ok()) return checked;
  }
  return {};
}

Result<void> check_schedule_steps(std::span<const ScheduleStep> steps) {
  std::size_t fires = 0;
  std::set<std::string_view> names;
  for (const ScheduleStep& step : steps) {
    fires += step.fires.size();
    if (!names.insert(step.name).second) return contradiction(step, "it is in one call twice");
  }
  if (fires > kMaxFiresOfACall) {
    return Error{ErrorCode::kRefused,
                 fmt::format("{} fires in one call, at most {} are allowed", fires, kMaxFiresOfACall)};
  }
  return check_batch(steps, check_schedule_step);
}

}  // namespace horae
