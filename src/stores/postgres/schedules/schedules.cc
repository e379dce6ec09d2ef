#include "stores/postgres/schedules/schedules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "model/schedule_text.h"
#include "store/queue_store.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/layout/look_up.h"
#include "stores/postgres/tasks/cancel.h"
#include "stores/postgres/tasks/insertion.h"

namespace horae::postgres {
namespace {

constexpr int kMostTries = 10;

const Sql kGet = statement("schedules_get");
const Sql kLock = statement("schedules_lock");
const Sql kList = statement("schedules_list");
const Sql kDue = statement("schedules_due");
const Sql kNow = statement("schedules_now");
const Sql kInsert = statement("schedules_insert", Changes::kAny);
const Sql kUpdate = statement("schedules_update", Changes::kOne);
const Sql kStep = statement("schedules_step", Changes::kAny);
const Sql kLastTasks = statement("schedules_last_tasks", Changes::kEach);
const Sql kRemove = statement("schedules_remove", Changes::kOne);
const Sql kRemoveFires = statement("schedules_remove_fires", Changes::kAny);
const Sql kRecompute = statement("schedules_recompute", Changes::kAny);
const Sql kInsertFires = statement("schedules_insert_fires", Changes::kEach);
const Sql kFires = statement("schedules_fires");
const Sql kForgetFires = statement("schedules_forget_fires", Changes::kAny);

Result<std::vector<Schedule>> read_schedules(const Rows& rows) {
  std::vector<Schedule> all;
  for (const Row row : rows) {
    auto definition = schedule_of(row.text(0), row.boolean(1), row.view(2));
    if (!definition.ok()) return definition.error();
    all.push_back({.definition = std::move(*definition),
                   .version = row.uuid(3),
                   .created_at = row.instant(4),
                   .updated_at = row.instant(5),
                   .handled_until = row.instant(6),
                   .next_at = row.optional_instant(7),
                   .tzdata = row.text(8),
                   .last_task = row.is_null(9) ? std::nullopt : std::optional(row.uuid(9))});
  }
  return all;
}

// The only one, if there is one.
Result<std::optional<Schedule>> read_one(const Rows& rows) {
  auto all = read_schedules(rows);
  if (!all.ok()) return all.error();
  return all->empty() ? std::nullopt : std::optional(std::move(all->front()));
}

Result<std::optional<Schedule>> lock_one(Transaction& transaction, std::string_view name) {
  const Rows rows = transaction.run(kLock, Params::of(std::vector<std::string_view>{name}));
  if (transaction.failed()) return transaction.failure()->error;
  return read_one(rows);
}

// One transaction that takes steps.
class Stepping {
 public:
  Stepping(Transaction& transaction, std::span<const ScheduleStep> steps, std::span<const Submission> submissions,
           std::vector<NewEntry> entries)
      : transaction_(transaction), steps_(steps), submissions_(submissions), entries_(std::move(entries)) {}

  // Sends everything but the commit. False after a failure.
  bool run() {
    take_on();
    if (transaction_.failed()) return false;
    judge_overlaps();
    if (transaction_.failed() || !cancel_previous()) return false;
    keep_wanted_entries();
    if (!entries_.empty()) {
      if (!Submitter::guard(transaction_, entries_)) return false;
      insertion_.emplace(transaction_, entries_);
    }
    record();
    return !transaction_.failed();
  }

  // After the commit.
  Result<std::vector<StepOutcome>> finish(KnownTasks& known, Floors& floors) {
    std::vector<SubmitOutcome> submitted(submissions_.size());
    if (insertion_) {
      if (auto checked = insertion_->check(); !checked.ok()) return checked.error();
      insertion_->remember(known, floors);
      insertion_->add_outcomes(submitted);
    }
    if (cancellation_) cancellation_->lower(floors);
    for (const auto& [step, place] : created_) outcomes_[step].tasks.push_back(submitted[place]);
    return std::move(outcomes_);
  }

 private:
  // Locks the schedules and moves those on that are still as they were seen.
  void take_on() {
    std::vector<std::string_view> names;
    std::vector<Uuid> versions;
    std::vector<Instant> seen, until;
    std::vector<std::optional<Instant>> next_at;
    std::vector<std::string_view> tzdata;
    for (const ScheduleStep& step : steps_) {
      names.emplace_back(step.name);
      versions.push_back(step.version);
      seen.push_back(step.seen);
      until.push_back(step.until);
      next_at.push_back(step.next_at);
      tzdata.emplace_back(step.tzdata);
    }
    outcomes_.resize(steps_.size(), {.kind = StepOutcome::Kind::kStale});
    last_tasks_.resize(steps_.size());
    transaction_.send(kLock, Params::of(names));
    for (const Row row : transaction_.run(kStep, Params::of(names, versions, seen, until, next_at, tzdata))) {
      const auto place = static_cast<std::size_t>(row.integer(0) - 1);
      outcomes_[place].kind = StepOutcome::Kind::kDone;
      if (!row.is_null(1)) last_tasks_[place] = row.uuid(1);
    }
  }

  bool is_taken(std::size_t step) const { return outcomes_[step].kind == StepOutcome::Kind::kDone; }

  void judge_overlaps() {
    std::vector<TaskId> ids;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const bool matters = steps_[i].overlap != OverlapRule::kAllow && !steps_[i].fires.empty();
      if (!is_taken(i) || !matters || !last_tasks_[i]) continue;
      ids.push_back(*last_tasks_[i]);
      places.push_back(i);
    }
    std::vector<bool> is_live(steps_.size());
    const auto numbers = find_numbers(transaction_, ids);
    std::vector<std::int64_t> known;
    for (const auto& number : numbers) {
      if (number) known.push_back(*number);
    }
    const Standings standings = find_standings(transaction_, known);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto standing = numbers[i] ? standings.find(*numbers[i]) : standings.end();
      is_live[places[i]] = standing != standings.end() && !is_terminal(standing->second.state);
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      judged_.push_back(is_taken(i) ? judge_overlap(steps_[i].overlap, steps_[i].fires.size(), is_live[i])
                                    : Overlapping{});
    }
  }

  bool cancel_previous() {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!judged_[i].cancels_previous) continue;
      wishes_.push_back({.id = *last_tasks_[i], .reason = "the next fire of schedule " + steps_[i].name});
      places.push_back(i);
    }
    if (wishes_.empty()) return true;
    cancellation_.emplace(transaction_, wishes_);
    const auto cancelled = cancellation_->run();
    if (!cancelled) return false;
    for (std::size_t i = 0; i < places.size(); ++i) {
      // It may have ended since its state was read.
      if ((*cancelled)[i].verdict == Verdict::kAccepted) outcomes_[places[i]].cancelled = last_tasks_[places[i]];
    }
    return true;
  }

  // What becomes of each fire, and the entries of those that become tasks.
  void keep_wanted_entries() {
    std::vector<bool> has_entry(submissions_.size());
    for (const NewEntry& entry : entries_) has_entry[entry.place] = true;
    std::vector<bool> wanted(submissions_.size());
    std::size_t place = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const ScheduleStep& step = steps_[i];
      if (is_taken(i) && step.skipped) {
        const auto& [first, last, count, reason] = *step.skipped;
        outcomes_[i].fires.push_back({first, last, count, std::nullopt, reason});
      }
      for (std::size_t k = 0; k < step.fires.size(); ++k, ++place) {
        if (!is_taken(i)) continue;
        FireRecord made{
            .at = step.fires[k].at, .last = step.fires[k].at, .task = std::nullopt, .skipped = std::nullopt};
        const bool runs = k >= judged_[i].first && k < judged_[i].first + judged_[i].count;
        wanted[place] = runs && has_entry[place];
        if (wanted[place]) {
          made.task = submissions_[place].id();
          last_created_[i] = *made.task;
          created_.emplace_back(i, place);
        } else {
          made.skipped = runs ? SkipReason::kQueueLimit : SkipReason::kOverlap;
        }
        outcomes_[i].fires.push_back(made);
      }
    }
    std::erase_if(entries_, [&](const NewEntry& entry) { return !wanted[entry.place]; });
  }

  void record() {
    std::vector<std::string_view> names, last_names;
    std::vector<Instant> at, last;
    std::vector<std::int64_t> counts;
    std::vector<std::optional<TaskId>> tasks;
    std::vector<std::optional<std::int16_t>> skipped;
    std::vector<TaskId> last_tasks;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      for (const FireRecord& fire : outcomes_[i].fires) {
        names.emplace_back(steps_[i].name);
        at.push_back(fire.at);
        last.push_back(fire.last);
        counts.push_back(fire.count);
        tasks.push_back(fire.task);
        skipped.push_back(fire.skipped ? std::optional(static_cast<std::int16_t>(*fire.skipped)) : std::nullopt);
      }
    }
    for (const auto& [step, task] : last_created_) {
      last_names.emplace_back(steps_[step].name);
      last_tasks.push_back(task);
    }
    if (!names.empty()) transaction_.send(kInsertFires, Params::of(names, at, last, counts, tasks, skipped));
    if (!last_names.empty()) transaction_.send(kLastTasks, Params::of(last_names, last_tasks));
  }

  Transaction& transaction_;
  std::span<const ScheduleStep> steps_;
  std::span<const Submission> submissions_;  // of all fires, in order
  std::vector<NewEntry> entries_;
  std::vector<StepOutcome> outcomes_;
  std::vector<std::optional<TaskId>> last_tasks_;             // of each step, before it
  std::vector<Overlapping> judged_;                           // of each step
  std::vector<std::pair<std::size_t, std::size_t>> created_;  // steps, and the places of their submissions
  std::map<std::size_t, TaskId> last_created_;                // of each step
  std::vector<CancelWish> wishes_;
  std::optional<Cancellation> cancellation_;
  std::optional<Insertion> insertion_;
};

}  // namespace

// A schedule that another call makes at the same time is found by the next try.
Result<PutOutcome> Schedules::put(const NewSchedule& schedule, const Uuid& version,
                                  const std::optional<Uuid>& expected) {
  const std::string text = to_text(schedule);
  const auto body = [&](Transaction& transaction) -> Result<PutOutcome> {
    PutOutcome outcome;
    auto old = lock_one(transaction, schedule.name);
    if (!old.ok()) return old.error();
    if (expected && (!*old || (*old)->version != *expected)) return PutOutcome{PutOutcome::Kind::kMismatch, *old};
    if (*old && (*old)->definition == schedule) return PutOutcome{PutOutcome::Kind::kUnchanged, *old};
    const std::string_view name = schedule.name;
    if (*old) {
      transaction.send(kUpdate, Params::of(name, schedule.task.queue, text, schedule.paused, version));
      outcome.kind = PutOutcome::Kind::kChanged;
    } else {
      const Rows made = transaction.run(kInsert, Params::of(name, schedule.task.queue, text, schedule.paused, version,
                                                            static_cast<std::int64_t>(kMaxSchedules)));
      if (!transaction.failed() && made.affected() == 0) outcome.kind = PutOutcome::Kind::kOverLimit;
    }
    auto now = lock_one(transaction, schedule.name);
    if (!now.ok()) return now.error();
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    outcome.schedule = std::move(*now);
    return outcome;
  };
  for (int i = 0; i < kMostTries; ++i) {
    auto outcome = pool_.transact<PutOutcome>(body);
    const bool was_made_meanwhile = outcome.ok() && outcome->kind == PutOutcome::Kind::kOverLimit && outcome->schedule;
    if (!was_made_meanwhile) return outcome;
  }
  return Error{ErrorCode::kUnavailable, "put: other clients keep changing this schedule; try again later"};
}

Result<bool> Schedules::remove(std::string_view name, const std::optional<Uuid>& expected) {
  return pool_.transact<bool>([&](Transaction& transaction) -> Result<bool> {
    const auto old = lock_one(transaction, name);
    if (!old.ok()) return old.error();
    if (!*old || (expected && (*old)->version != *expected)) return false;
    transaction.send(kRemove, Params::of(name));
    transaction.send(kRemoveFires, Params::of(name));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return true;
  });
}

Result<std::optional<Schedule>> Schedules::get(std::string_view name) {
  return pool_.look<std::optional<Schedule>>([&](Transaction& transaction) -> Result<std::optional<Schedule>> {
    const auto found = transaction.send(kGet, Params::of(name));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return read_one(transaction.rows(found));
  });
}

Result<std::vector<Schedule>> Schedules::list(std::string_view after, std::size_t limit) {
  return pool_.look<std::vector<Schedule>>([&](Transaction& transaction) -> Result<std::vector<Schedule>> {
    const auto found = transaction.send(kList, Params::of(after, static_cast<std::int64_t>(limit)));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return read_schedules(transaction.rows(found));
  });
}

Result<DueSchedules> Schedules::due(std::size_t max) {
  return pool_.look<DueSchedules>([&](Transaction& transaction) -> Result<DueSchedules> {
    const auto now = transaction.send(kNow);
    const auto found = transaction.send(kDue, Params::of(static_cast<std::int64_t>(max + 1)));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    auto all = read_schedules(transaction.rows(found));
    if (!all.ok()) return all.error();
    return due_of(transaction.rows(now)[0].instant(0), std::move(*all), max);
  });
}

Result<std::vector<StepOutcome>> Schedules::step(std::span<const ScheduleStep> steps) {
  if (auto checked = check_schedule_steps(steps); !checked.ok()) return checked.error();
  if (steps.empty()) return std::vector<StepOutcome>();
  return database_.run([&] { return step_all(steps); });
}

Result<std::vector<StepOutcome>> Schedules::step_all(std::span<const ScheduleStep> steps) {
  using Answer = std::optional<std::vector<StepOutcome>>;
  std::vector<Submission> submissions;
  for (const ScheduleStep& step : steps) {
    for (const FireOrder& fire : step.fires) submissions.push_back(fire.submission);
  }
  for (int i = 0; i < kMostTries; ++i) {
    const auto entries = submitter_.prepare_any(submissions);
    if (!entries.ok()) return entries.error();
    std::optional<Failure> refusal;
    const auto body = [&](Transaction& transaction) -> Result<Answer> {
      Stepping stepping(transaction, steps, submissions, *entries);
      const bool sent = stepping.run();
      const auto done = sent ? transaction.commit() : Result<void>();
      if (!sent || !done.ok()) {
        refusal = transaction.failure();
        if (!refusal) return Error{ErrorCode::kUnavailable, "step: an id of a task is taken; try again"};
        if (Insertion::was_refused(*refusal)) return Answer();
        return refusal->error;
      }
      auto outcomes = stepping.finish(known_, floors_);
      if (!outcomes.ok()) return outcomes.error();
      return Answer(std::move(*outcomes));
    };
    auto answer = pool_.transact<Answer>(body);
    if (!answer.ok()) return answer.error();
    if (*answer) return std::move(**answer);
    if (auto prepared = submitter_.prepare_again(*refusal, submissions); !prepared.ok()) return prepared.error();
  }
  return Error{ErrorCode::kUnavailable, "step: the tasks of these fires could not be stored; try again later"};
}

Result<std::size_t> Schedules::recompute(std::string_view tzdata) {
  return pool_.transact<std::size_t>([&](Transaction& transaction) -> Result<std::size_t> {
    const auto changed = transaction.send(kRecompute, Params::of(tzdata));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return transaction.rows(changed).affected();
  });
}

Result<std::vector<FireRecord>> Schedules::fires(std::string_view name, Instant before, std::size_t limit) {
  return pool_.look<std::vector<FireRecord>>([&](Transaction& transaction) -> Result<std::vector<FireRecord>> {
    const auto found = transaction.send(kFires, Params::of(name, before, static_cast<std::int64_t>(limit)));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    std::vector<FireRecord> fires;
    for (const Row row : transaction.rows(found)) {
      fires.push_back(
          {.at = row.instant(0),
           .last = row.instant(1),
           .count = row.integer(2),
           .task = row.is_null(3) ? std::nullopt : std::optional(row.uuid(3)),
           .skipped = row.is_null(4) ? std::nullopt : std::optional(static_cast<SkipReason>(row.small(4)))});
    }
    return fires;
  });
}

Result<std::size_t> Schedules::forget_fires(std::size_t max) {
  return pool_.transact<std::size_t>([&](Transaction& transaction) -> Result<std::size_t> {
    const auto gone = transaction.send(kForgetFires, Params::of(static_cast<std::int64_t>(max), kDefaultRetention));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return transaction.rows(gone).affected();
  });
}

}  // namespace horae::postgres
