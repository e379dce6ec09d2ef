#include "stores/postgres/tasks/cancel.h"

#include <algorithm>
#include <map>
#include <set>

#include "stores/postgres/layout/look_up.h"
#include "stores/postgres/layout/places.h"

namespace horae::postgres {
namespace {

// A task may move from one place to the next while we look for it. Each statement waits for whoever has it; what was
// found nowhere is looked for again, and at last everybody is kept out for a moment.
std::string lock_in(const char* table, const std::string& columns) {
  return "select " + columns + " from unnest($1::bigint[]) as w(number) cross join lateral (select * from " + table +
         " as x where x.lo > w.number - 64 and x.lo <= w.number and x.hi >= w.number order by x.lo for update) as r";
}

const Sql kLockRuns{"cancel_lock_runs", lock_in("ready", kReadyColumns)};
const Sql kLockLeases{"cancel_lock_leases",
                      "select " + std::string(kRunningColumns) +
                          " from unnest($1::bigint[]) as w(number) cross join lateral (select * from"
                          " running as x where x.lo > w.number - 64 and x.lo <= w.number and x.hi >= w.number"
                          " order by x.lo for update) as l"};
const Sql kLockDelayed{
    "cancel_lock_delayed",
    lock_in("scheduled",
            "r.lo, r.hi, r.queue, r.attempt, r.tries, r.max_attempts, r.recurring, null::timestamptz,"
            " r.ended_event, r.ended_owner, r.due, r.priority, r.updated_at")};
const Sql kLockAll{"cancel_lock_all", "lock table ready, running, scheduled in share row exclusive mode"};

constexpr int kMostLooks = 5;

// The places that we hold, by their first numbers.
template <typename Place>
using Held = std::map<std::int64_t, Place>;

template <typename Place>
const Place* place_of(const Held<Place>& held, std::int64_t number) {
  auto next = held.upper_bound(number);
  if (next == held.begin()) return nullptr;
  const Place& place = (--next)->second;
  return place.life.range.contains(number) ? &place : nullptr;
}

// Takes the cancelled numbers out of a range: what is left of it goes into `rest`.
template <typename Place>
void cut(const Place& place, const std::set<std::int64_t>& cancelled, std::vector<Place>& rest) {
  std::int64_t from = place.life.range.lo;
  for (auto number = cancelled.lower_bound(from); number != cancelled.end() && *number <= place.life.range.hi;
       ++number) {
    if (from < *number) rest.push_back(piece_of(place, {from, *number - 1}));
    from = *number + 1;
  }
  if (from <= place.life.range.hi) rest.push_back(piece_of(place, {from, place.life.range.hi}));
}

class Batch {
 public:
  Batch(Transaction& transaction, std::span<const CancelWish> wishes) : transaction_(transaction), wishes_(wishes) {}

  bool prepare() {
    std::vector<TaskId> ids;
    for (const CancelWish& wish : wishes_) ids.push_back(wish.id);
    numbers_ = find_numbers(transaction_, ids);
    std::set<std::int64_t> sorted;
    for (const auto& number : numbers_) {
      if (number) sorted.insert(*number);
    }
    const std::vector<std::int64_t> wanted(sorted.begin(), sorted.end());
    for (int look = 1; !wanted.empty() && !transaction_.failed(); ++look) {
      if (look == kMostLooks) (void)transaction_.run(kLockAll);
      lock(wanted);
      std::vector<std::int64_t> rest;
      std::ranges::copy_if(wanted, std::back_inserter(rest), [&](std::int64_t number) { return !is_held(number); });
      standings_ = find_standings(transaction_, rest);
      const bool all_ended =
          std::ranges::all_of(standings_, [](const auto& standing) { return is_terminal(standing.second.state); });
      if (all_ended || look == kMostLooks) break;
    }
    hide_out_of_scope(transaction_, wishes_, numbers_, [this](std::int64_t number) { return queue_of(number); });
    return !transaction_.failed();
  }

  CancelOutcome cancel(std::size_t place) {
    const CancelWish& wish = wishes_[place];
    const auto number = numbers_[place];
    if (!number) return {.verdict = Verdict::kNotFound};
    if (cancelled_.contains(*number)) return {Verdict::kRepeated, State::kCancelled};
    if (const auto ended = standings_.find(*number); ended != standings_.end()) {
      const State state = ended->second.state;
      return {state == State::kCancelled ? Verdict::kRepeated : Verdict::kWrongState, state};
    }
    if (!is_held(*number)) return {.verdict = Verdict::kNotFound};  // purged meanwhile
    cancelled_.insert(*number);
    outcomes_.push_back(outcome_of(*number, wish));
    return {Verdict::kAccepted, State::kCancelled};
  }

  void write() {
    write_place(runs_, insert_ready, delete_ready);
    write_place(leases_, insert_running, delete_running);
    write_place(delayed_, insert_scheduled, delete_scheduled);
    insert_finished(transaction_, outcomes_);
  }

  // After the commit. What is left of a range that was cut is not new, but its entry in the index is.
  void lower(Floors& floors) const {
    for (const auto& [lo, run] : runs_) floors.lower(run.life.queue, run.rank);
  }

 private:
  void lock(const std::vector<std::int64_t>& numbers) {
    const Params params = Params::of(numbers);
    const std::size_t runs = transaction_.send(kLockRuns, params);
    const std::size_t leases = transaction_.send(kLockLeases, params);
    const std::size_t delayed = transaction_.send(kLockDelayed, params);
    runs_.clear();
    leases_.clear();
    delayed_.clear();
    if (!transaction_.wait()) return;
    for (const Row row : transaction_.rows(runs)) runs_.insert_or_assign(row.integer(0), read_ready(row, 0));
    for (const Row row : transaction_.rows(leases)) leases_.insert_or_assign(row.integer(0), read_running(row));
    for (const Row row : transaction_.rows(delayed)) {
      delayed_.insert_or_assign(row.integer(0), ScheduledRange{.life = read_life(row, 0),
                                                             .due = row.instant(10),
                                                             .priority = row.small(11),
                                                             .updated_at = row.instant(12)});
    }
  }

  // Nothing for a task that is not there any more.
  std::optional<int> queue_of(std::int64_t number) const {
    if (const ReadyRange* run = place_of(runs_, number)) return run->life.queue;
    if (const RunningRange* lease = place_of(leases_, number)) return lease->life.queue;
    if (const ScheduledRange* delayed = place_of(delayed_, number)) return delayed->life.queue;
    const auto ended = standings_.find(number);
    return ended == standings_.end() ? std::nullopt : std::optional(ended->second.queue);
  }

  bool is_held(std::int64_t number) const {
    return place_of(runs_, number) || place_of(leases_, number) || place_of(delayed_, number);
  }

  // A cancel ends the attempt that runs; else the end of the one before stays the newest.
  FinishedRange outcome_of(std::int64_t number, const CancelWish& wish) const {
    FinishedRange outcome{.life = {}, .state = State::kCancelled, .cancel_reason = wish.reason};
    if (const RunningRange* lease = place_of(leases_, number)) {
      outcome.life = lease->life;
      outcome.owner = lease->owner;
      outcome.started_at = lease->started_at;
      outcome.life.ended = AttemptEnd{Event::kCancel, lease->owner};
    } else if (const ReadyRange* run = place_of(runs_, number)) {
      outcome.life = run->life;
    } else if (const ScheduledRange* delayed = place_of(delayed_, number)) {
      outcome.life = delayed->life;
      outcome.life.run_at = delayed->due;
    }
    outcome.life.range = {number, number};
    return outcome;
  }

  template <typename Place, typename Insert, typename Delete>
  void write_place(const Held<Place>& held, Insert insert, Delete remove) {
    std::vector<std::int64_t> gone;
    std::vector<Place> rest;
    for (const auto& [lo, place] : held) {
      const auto first = cancelled_.lower_bound(lo);
      if (first == cancelled_.end() || *first > place.life.range.hi) continue;
      gone.push_back(lo);
      cut(place, cancelled_, rest);
    }
    remove(transaction_, gone);
    insert(transaction_, rest);
  }

  Transaction& transaction_;
  std::span<const CancelWish> wishes_;
  std::vector<std::optional<std::int64_t>> numbers_;
  Held<ReadyRange> runs_;
  Held<RunningRange> leases_;
  Held<ScheduledRange> delayed_;
  Standings standings_;  // of what had ended before
  std::set<std::int64_t> cancelled_;
  std::vector<FinishedRange> outcomes_;
};

}  // namespace

Result<std::vector<CancelOutcome>> Canceller::cancel(std::span<const CancelWish> wishes) {
  if (wishes.empty()) return std::vector<CancelOutcome>();
  return pool_.transact<std::vector<CancelOutcome>>(
      [&](Transaction& transaction) -> Result<std::vector<CancelOutcome>> {
        Batch batch(transaction, wishes);
        if (!batch.prepare()) return transaction.failure()->error;
        std::vector<CancelOutcome> outcomes;
        for (std::size_t i = 0; i < wishes.size(); ++i) outcomes.push_back(batch.cancel(i));
        batch.write();
        if (auto done = transaction.commit(); !done.ok()) return done.error();
        batch.lower(floors_);
        return outcomes;
      });
}

}  // namespace horae::postgres
