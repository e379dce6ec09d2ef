#include "stores/postgres/tasks/upkeep.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/time.h"
#include "stores/postgres/connection/values.h"
#include "stores/postgres/layout/effects.h"
#include "stores/postgres/layout/look_up.h"
#include "stores/postgres/layout/places.h"
#include "stores/postgres/layout/trail.h"
#include "stores/upkeep_parts.h"

namespace horae::postgres {
namespace {

const Sql kLockDue = statement("lock_due");
const Sql kNextDue = statement("next_due");
const Sql kLook = statement("look");
const Sql kStamp = statement("stamp", Changes::kAny);
const Sql kStampAndLook = statement("stamp_and_look", Changes::kAny);
const Sql kLockOutLeases = statement("lock_out_leases");
const Sql kExtendPatience = statement("extend_patience");
const Sql kExtendAll = statement("extend_all", Changes::kAny);
const Sql kExtendOutOfSight = statement("extend_out_of_sight", Changes::kAny);
const Sql kLockOverdue = statement("lock_overdue");
const Sql kProgressOf = statement("progress_of");
const Sql kIdsOf = statement("ids_of");
const ValuesStatement kMakeReady{statement("promote", Changes::kEach)};

// Takes `max` tasks from locked ranges, in their order; of the last range maybe only the first ones.
template <typename Place>
std::vector<Place> take_up_to(std::vector<Place>& locked, std::size_t max) {
  std::vector<Place> taken;
  auto left = static_cast<std::int64_t>(max);
  for (const Place& place : locked) {
    if (left == 0) break;
    const Range range = place.life.range;
    const Range part{range.lo, std::min(range.hi, range.lo + left - 1)};
    taken.push_back(piece_of(place, part));
    left -= part.size();
  }
  return taken;
}

// What is left of the last range that was taken in part.
template <typename Place>
std::vector<Place> rest_of(const std::vector<Place>& locked, const std::vector<Place>& taken) {
  if (taken.empty()) return {};
  const Place& last = locked[taken.size() - 1];
  const Range part = taken.back().life.range;
  if (part.hi == last.life.range.hi) return {};
  return {piece_of(last, {part.hi + 1, last.life.range.hi})};
}

template <typename Place>
std::vector<std::int64_t> firsts_of(const std::vector<Place>& places) {
  std::vector<std::int64_t> los;
  for (const Place& place : places) los.push_back(place.life.range.lo);
  return los;
}

// Overdue ranges on their way to ready or finished.
class Expiry {
 public:
  Expiry(Transaction& transaction, std::vector<RunningRange> taken)
      : transaction_(transaction), taken_(std::move(taken)), trail_(transaction) {
    for (const RunningRange& lease : taken_) ranges_.push_back(lease.life.range);
  }

  // Reads what the history and the answer need.
  void read() {
    std::vector<std::int64_t> numbers;
    for (const Range& range : ranges_) {
      for (std::int64_t number = range.lo; number <= range.hi; ++number) numbers.push_back(number);
    }
    const Params params = Params::of(los_of(ranges_), his_of(ranges_));
    const std::size_t ids = transaction_.send(kIdsOf, params);
    for (const Row row : transaction_.run(kProgressOf, params)) progress_[row.integer(0)] = row.real(1);
    trail_.read(numbers, {});
    std::set<int> queues;
    for (const RunningRange& lease : taken_) queues.insert(lease.life.queue);
    queue_names_ = find_queue_names(transaction_, queues);
    for (const Row row : transaction_.rows(ids)) ids_[row.integer(0)] = row.uuid(1);
  }

  std::vector<ExpiredLease> decide() {
    std::vector<ExpiredLease> expired;
    for (const RunningRange& lease : taken_) {
      const Effect alike = effect_of(facts_of(lease), Event::kExpire, {});  // in all but the progress in the history
      if (is_terminal(*alike.state)) {
        exhausted_.push_back(finished_after(lease, alike, {}));
      } else {
        ready_.push_back({.life = life_after(lease.life, alike, lease.owner), .rank = lease.rank, .at = lease.at});
      }
      for (std::int64_t number = lease.life.range.lo; number <= lease.life.range.hi; ++number) {
        TaskFacts facts = facts_of(lease);
        if (const auto reached = progress_.find(number); reached != progress_.end()) facts.progress = reached->second;
        note_effect(trail_, number, lease, effect_of(facts, Event::kExpire, {}), {});
        expired.push_back({.id = ids_[number],
                           .queue = queue_names_[lease.life.queue],
                           .owner = lease.owner,
                           .attempt = lease.life.attempt,
                           .state = *alike.state});
      }
    }
    return expired;
  }

  // Sends all changes; `overdue` are the ranges as they were locked.
  void write(const std::vector<RunningRange>& overdue) {
    delete_running(transaction_, firsts_of(taken_));
    insert_running(transaction_, rest_of(overdue, taken_));
    insert_ready(transaction_, ready_);
    insert_finished(transaction_, exhausted_);
    reset_progress(transaction_, ranges_, false);
    trail_.write();
  }

  // After the commit.
  void lower(Floors& floors) const {
    for (const ReadyRange& ready : ready_) floors.lower(ready.life.queue, ready.rank);
  }

 private:
  Transaction& transaction_;
  const std::vector<RunningRange> taken_;
  std::vector<Range> ranges_;  // of taken_
  std::map<std::int64_t, TaskId> ids_;
  std::map<std::int64_t, double> progress_;
  std::map<int, std::string> queue_names_;
  Trail trail_;
  std::vector<ReadyRange> ready_;
  std::vector<FinishedRange> exhausted_;
};

}  // namespace

Result<PromoteOutcome> Upkeep::promote_due(std::size_t max) {
  return pool_.transact<PromoteOutcome>([&](Transaction& transaction) -> Result<PromoteOutcome> {
    std::vector<ScheduledRange> due;
    for (const Row row : transaction.run(kLockDue, Params::of(static_cast<std::int64_t>(max)))) {
      due.push_back(read_scheduled(row));
    }
    const auto taken = take_up_to(due, max);
    PromoteOutcome outcome;
    delete_scheduled(transaction, firsts_of(taken));
    insert_scheduled(transaction, rest_of(due, taken));
    const auto made_ready = kMakeReady.send(transaction, taken, [](const ScheduledRange& each, Params& params) {
      const Life& life = each.life;
      params.add(life.range.lo).add(life.range.hi).add(std::int32_t{life.queue});
      params.add(static_cast<std::int16_t>(each.priority)).add(std::int32_t{life.attempt});
      params.add(std::int32_t{life.tries}).add(life.max_attempts).add(life.recurring).add(each.due);
      params.add(life.ended ? std::optional(static_cast<std::int16_t>(life.ended->event)) : std::nullopt);
      params.add(life.ended ? std::optional<std::string_view>(life.ended->owner) : std::nullopt);
    });
    for (const ScheduledRange& each : taken) outcome.promoted += static_cast<std::size_t>(each.life.range.size());
    const std::size_t next = transaction.send(kNextDue);
    std::set<int> queues;
    for (const ScheduledRange& each : taken) queues.insert(each.life.queue);
    for (auto& [no, name] : find_queue_names(transaction, queues)) outcome.queues.push_back(std::move(name));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    const Row row = transaction.rows(next)[0];
    outcome.next_in = time_left(row.optional_instant(1), row.instant(0));
    for (const std::size_t ticket : made_ready) {
      for (const Row ready : transaction.rows(ticket)) floors_.lower(ready.small(0), ready.integer(1));
    }
    return outcome;
  });
}

Result<Watch> Upkeep::look() {
  return pool_.look<Watch>([&](Transaction& transaction) -> Result<Watch> {
    const std::size_t seen = transaction.send(kLook);
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    const Row row = transaction.rows(seen)[0];
    const auto first = row.optional_instant(2);
    return Watch{.now = row.instant(0),
                 .stamp = row.optional_instant(1),
                 .has_leases = first.has_value(),
                 .next_expiry_in = time_left(first, row.instant(0))};
  });
}

Result<bool> Upkeep::extend_leases(const std::optional<Instant>& seen) {
  return pool_.transact<bool>([&](Transaction& transaction) -> Result<bool> {
    const bool stamped = transaction.run(kStamp, Params::of(seen)).affected() > 0;
    if (stamped) {
      transaction.be_patient();  // for the lock, and for all leases
      transaction.send(kExtendPatience);
      transaction.send(kLockOutLeases);
      transaction.send(kExtendAll);
    }
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return stamped;
  });
}

Result<ExpireOutcome> Upkeep::expire_leases(const ExpireWish& wish) {
  return pool_.transact<ExpireOutcome>([&](Transaction& transaction) -> Result<ExpireOutcome> {
    const Rows seen = transaction.run(kLook);
    if (transaction.failed()) return transaction.failure()->error;
    const auto before = seen[0].optional_instant(1);
    const bool has_leases = !seen[0].is_null(2);
    const auto answer = [&](const ExpireOutcome& outcome) -> Result<ExpireOutcome> {
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      return outcome;
    };
    if (!has_leases) return answer({});
    if (before != wish.seen) return answer({.kind = ExpireOutcome::Kind::kStampMoved});
    if (!before) return answer({.kind = ExpireOutcome::Kind::kNoStamp});
    const auto slack = std::int64_t{std::chrono::floor<std::chrono::microseconds>(wish.slack).count()};
    const Rows stamped = transaction.run(kStampAndLook, Params::of(*before, slack));
    if (transaction.failed()) return transaction.failure()->error;
    if (stamped.empty()) return answer({.kind = ExpireOutcome::Kind::kStampMoved});
    const Instant stamp = stamped[0].instant(0);
    ExpireOutcome outcome{.extended = stamped[0].boolean(1)};
    if (outcome.extended) {
      transaction.send(kExtendPatience);
      transaction.send(kLockOutLeases);
      transaction.send(kExtendOutOfSight, Params::of(*before, slack, stamp));
    }

    std::vector<RunningRange> overdue;
    for (const Row row : transaction.run(kLockOverdue, Params::of(static_cast<std::int64_t>(wish.max), stamp))) {
      overdue.push_back(read_running(row));
    }
    auto taken = take_up_to(overdue, wish.max);
    if (taken.empty()) return answer(outcome);
    Expiry expiry(transaction, std::move(taken));
    expiry.read();
    outcome.expired = expiry.decide();
    expiry.write(overdue);
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    expiry.lower(floors_);
    return outcome;
  });
}

}  // namespace horae::postgres
