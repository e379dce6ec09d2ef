// Fires schedules when they are due.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/meter.h"
#include "base/uuid.h"
#include "engine/loop.h"
#include "store/schedule_store.h"

namespace horae {

struct ScheduleLoopOptions {
  Duration poll = std::chrono::seconds(1);   // for what other nodes changed, unless a ClusterPoller wakes the loop
  Duration retry = std::chrono::seconds(1);  // after the store has failed
  std::size_t batch = 500;                   // schedules of one call
  Duration forget_interval = std::chrono::minutes(10);  // between removals of old records
};

// Asks the store what is due, works out what that means, and proposes it to the store, which accepts one of several
// nodes that propose the same. So it may run on every node.
class ScheduleLoop final : public Loop {
 public:
  // All references must outlive the loop.
  ScheduleLoop(ScheduleStore& schedules, UuidSource& ids, const ZoneDatabase& zones, Logger log,
               ScheduleLoopOptions options = {}, Meter& meter = no_meter());

  std::string_view name() const override { return "schedules"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  struct Known {
    Uuid version;
    Timetable timetable;
  };

  // Makes those due whose next dates come from an older time zone database. False if the store failed.
  bool recompute_once();
  void forget_old_records(MonotonicTime now);
  const Timetable* timetable_of(const Schedule& schedule);
  ScheduleStep step_of(const Schedule& schedule, const Timetable& timetable, Instant now);
  std::vector<ScheduleStep> steps_of(const DueSchedules& due, bool& is_complete);
  void count(const std::vector<ScheduleStep>& steps, const std::vector<StepOutcome>& outcomes);

  ScheduleStore& schedules_;
  UuidSource& ids_;
  const ZoneDatabase& zones_;
  Logger log_;
  const ScheduleLoopOptions options_;
  Meter& meter_;
  Counter& fires_;
  Histogram& lateness_;
  bool has_recomputed_ = false;
  std::optional<MonotonicTime> forgot_at_;
  std::map<std::string, Known> known_;  // the timetables of schedules that were due, by name
};

}  // namespace horae
