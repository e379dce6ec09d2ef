// Schedules, their fires, and what became of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "model/schedule.h"
#include "store/submission.h"

namespace horae {

inline constexpr std::size_t kMaxSchedules = 10'000;
inline constexpr std::size_t kMaxFiresOfACall = 2'000;  // of ScheduleStore::step(), over all its steps

struct Schedule {
  NewSchedule definition;
  Uuid version;  // another one after each change of the definition, also of one that was removed and made again
  Instant created_at;
  Instant updated_at;               // when the definition changed
  Instant handled_until;            // what was to fire up to this moment has fired, or is recorded as skipped
  std::optional<Instant> next_at;   // when to step next; nothing if it is paused or has no further fires
  std::string tzdata;               // the time zone database by which next_at was computed; empty before the first step
  std::optional<TaskId> last_task;  // of the newest fire that became one

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

struct PutOutcome {
  enum class Kind {
    kCreated,
    kChanged,
    kUnchanged,  // it was like this already
    kMismatch,   // the version is not the expected one, or there is none: nothing was done
    kOverLimit,  // there are kMaxSchedules
  };
  Kind kind = Kind::kCreated;
  std::optional<Schedule> schedule;  // as it is now; nothing if it does not exist

  friend bool operator==(const PutOutcome&, const PutOutcome&) = default;
};

struct DueSchedules {
  Instant now;                      // the store's clock
  std::vector<Schedule> schedules;  // with next_at <= now, earliest first
  std::optional<Duration> next_in;  // until the next of the others is due; zero if more are due now; nothing without
};

// From schedules in the order of next_at, which includes the first one that is not due or beyond `max`.
DueSchedules due_of(Instant now, std::vector<Schedule> first_ones, std::size_t max);

struct FireOrder {
  Instant at;             // the nominal time
  Submission submission;  // its task
};

// What a node has worked out about a schedule that is due, by plan_fires().
struct ScheduleStep {
  std::string name;
  Uuid version;   // of the schedule that it saw
  Instant seen;   // its handled_until
  Instant until;  // DueSchedules::now: all fires up to here are in this step
  OverlapRule overlap = OverlapRule::kSkip;
  std::vector<FireOrder> fires;         // oldest first, after `seen` and up to `until`
  std::optional<SkippedFires> skipped;  // all before the fires
  std::optional<Instant> next_at;       // after `until`
  std::string tzdata;
};

// What became of a fire, or of several that follow one another.
struct FireRecord {
  Instant at;
  Instant last;            // of several
  std::int64_t count = 1;  // up to kMaxCounted
  std::optional<TaskId> task;
  std::optional<SkipReason> skipped;  // if it has no task

  friend bool operator==(const FireRecord&, const FireRecord&) = default;
};

struct StepOutcome {
  enum class Kind {
    kDone,
    kStale,  // the schedule was changed, removed, or stepped by another node: nothing was done
  };
  Kind kind = Kind::kDone;
  std::vector<FireRecord> fires;     // by time
  std::vector<SubmitOutcome> tasks;  // that were created, by time
  std::optional<TaskId> cancelled;   // the task of an earlier fire

  friend bool operator==(const StepOutcome&, const StepOutcome&) = default;
};

// kRefused if the parts of a step contradict one another.
Result<void> check_schedule_step(const ScheduleStep& step);
Result<void> check_schedule_steps(std::span<const ScheduleStep> steps);

// Thread safety, durability and time: as in TaskStore. A definition is checked by its caller (check_new_schedule()).
class ScheduleStore {
 public:
  virtual ~ScheduleStore() = default;

  // Makes a schedule, or replaces its definition. `version` is made by the caller and becomes that of the schedule if
  // anything changes; with `expected`, only the schedule with that version is replaced, and none is made. What is due
  // later than now fires by the new definition, and nothing by the old one any more.
  virtual Result<PutOutcome> put(const NewSchedule& schedule, const Uuid& version,
                                 const std::optional<Uuid>& expected) = 0;

  // Removes a schedule and the records of its fires; its tasks stay. False if there is none, or not of that version.
  virtual Result<bool> remove(std::string_view name, const std::optional<Uuid>& expected) = 0;

  virtual Result<std::optional<Schedule>> get(std::string_view name) = 0;

  // Up to `limit` schedules whose names come after `after`, by name.
  virtual Result<std::vector<Schedule>> list(std::string_view after, std::size_t limit) = 0;

  // Up to `max` schedules that are due.
  virtual Result<DueSchedules> due(std::size_t max) = 0;

  // Takes steps of different schedules; one outcome for each. A step is atomic: its tasks, the records of its fires and the next date come
  // together, if version and handled_until are still those that were seen, and `until` lies in the past of the store's
  // clock. So each fire comes once, however many nodes try. Overlaps are judged here.
  virtual Result<std::vector<StepOutcome>> step(std::span<const ScheduleStep> steps) = 0;

  // Makes schedules due whose next dates come from an older time zone database. How many.
  virtual Result<std::size_t> recompute(std::string_view tzdata) = 0;

  // Up to `limit` records of fires before `before`, newest first. None if there is no such schedule.
  virtual Result<std::vector<FireRecord>> fires(std::string_view name, Instant before, std::size_t limit) = 0;

  // Removes up to `max` records that are older than the retention of their schedule's queue. How many.
  virtual Result<std::size_t> forget_fires(std::size_t max) = 0;
};

}  // namespace horae
