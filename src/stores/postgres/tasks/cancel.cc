#include "stores/postgres/tasks/cancel.h"

#include <algorithm>
#include <map>
#include <set>

#include "stores/postgres/connection/statements.h"
#include "stores/postgres/layout/effects.h"
#include "stores/postgres/layout/look_up.h"
#include "stores/postgres/layout/places.h"

namespace horae::postgres {
namespace {

const Sql kLockReady = statement("cancel_lock_ready");
const Sql kLockRunning = statement("cancel_lock_running");
const Sql kLockScheduled = statement("cancel_lock_scheduled");
const Sql kLockAll = statement("cancel_lock_all");

// A task that was found in no table, because it moved meanwhile, is looked for again; the last look locks the tables.
constexpr int kMostLooks = 5;

// Locked ranges of a table, by their first numbers.
template <typename Ranged>
using Held = std::map<std::int64_t, Ranged>;

template <typename Ranged>
const Ranged* find_in(const Held<Ranged>& held, std::int64_t number) {
  auto next = held.upper_bound(number);
  if (next == held.begin()) return nullptr;
  const Ranged& ranged = (--next)->second;
  return ranged.life.range.contains(number) ? &ranged : nullptr;
}

// Takes the cancelled numbers out of a range; the pieces that are left are added to `rest`.
template <typename Ranged>
void cut(const Ranged& ranged, const std::set<std::int64_t>& cancelled, std::vector<Ranged>& rest) {
  std::int64_t from = ranged.life.range.lo;
  for (auto number = cancelled.lower_bound(from); number != cancelled.end() && *number <= ranged.life.range.hi;
       ++number) {
    if (from < *number) rest.push_back(piece_of(ranged, {from, *number - 1}));
    from = *number + 1;
  }
  if (from <= ranged.life.range.hi) rest.push_back(piece_of(ranged, {from, ranged.life.range.hi}));
}

}  // namespace

class Cancellation::Batch {
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
    finished_.push_back(finish(*number, wish));
    const RunningRange* running = find_in(running_, *number);
    return {Verdict::kAccepted, State::kCancelled, running ? std::optional(running->owner) : std::nullopt};
  }

  void write() {
    write_table(ready_, insert_ready, delete_ready);
    write_table(running_, insert_running, delete_running);
    write_table(scheduled_, insert_scheduled, delete_scheduled);
    insert_finished(transaction_, finished_);
  }

  // After the commit. The rest of a range that was cut is not new, but its entry in the index is.
  void lower(Floors& floors) const {
    for (const auto& [lo, ready] : ready_) floors.lower(ready.life.queue, ready.rank);
  }

 private:
  void lock(const std::vector<std::int64_t>& numbers) {
    const Params params = Params::of(numbers);
    const std::size_t ready = transaction_.send(kLockReady, params);
    const std::size_t running = transaction_.send(kLockRunning, params);
    const std::size_t scheduled = transaction_.send(kLockScheduled, params);
    ready_.clear();
    running_.clear();
    scheduled_.clear();
    if (!transaction_.wait()) return;
    for (const Row row : transaction_.rows(ready)) ready_.insert_or_assign(row.integer(0), read_ready(row));
    for (const Row row : transaction_.rows(running)) running_.insert_or_assign(row.integer(0), read_running(row));
    for (const Row row : transaction_.rows(scheduled)) scheduled_.insert_or_assign(row.integer(0), read_scheduled(row));
  }

  // Nothing for a task that has been purged.
  std::optional<int> queue_of(std::int64_t number) const {
    if (const ReadyRange* ready = find_in(ready_, number)) return ready->life.queue;
    if (const RunningRange* running = find_in(running_, number)) return running->life.queue;
    if (const ScheduledRange* scheduled = find_in(scheduled_, number)) return scheduled->life.queue;
    const auto ended = standings_.find(number);
    return ended == standings_.end() ? std::nullopt : std::optional(ended->second.queue);
  }

  bool is_held(std::int64_t number) const {
    return find_in(ready_, number) || find_in(running_, number) || find_in(scheduled_, number);
  }

  FinishedRange finish(std::int64_t number, const CancelWish& wish) const {
    FinishedRange finished;
    if (const RunningRange* running = find_in(running_, number)) {
      finished = finished_after(*running, effect_of(facts_of(*running), Event::kCancel, {}), {});
    } else if (const ReadyRange* ready = find_in(ready_, number)) {
      finished = not_started(ready->life, State::kReady);
    } else if (const ScheduledRange* scheduled = find_in(scheduled_, number)) {
      finished = not_started(scheduled->life, State::kScheduled);
      finished.life.run_at = scheduled->due;
    }
    finished.life.range = {number, number};
    finished.cancel_reason = wish.reason;
    return finished;
  }

  static FinishedRange not_started(const Life& life, State state) {
    const Effect effect = effect_of({.state = state, .tries = life.tries}, Event::kCancel, {});
    return {.life = life_after(life, effect, ""), .state = *effect.state};
  }

  template <typename Ranged, typename Insert, typename Delete>
  void write_table(const Held<Ranged>& held, Insert insert, Delete remove) {
    std::vector<std::int64_t> gone;
    std::vector<Ranged> rest;
    for (const auto& [lo, ranged] : held) {
      const auto first = cancelled_.lower_bound(lo);
      if (first == cancelled_.end() || *first > ranged.life.range.hi) continue;
      gone.push_back(lo);
      cut(ranged, cancelled_, rest);
    }
    remove(transaction_, gone);
    insert(transaction_, rest);
  }

  Transaction& transaction_;
  std::span<const CancelWish> wishes_;
  std::vector<std::optional<std::int64_t>> numbers_;
  Held<ReadyRange> ready_;
  Held<RunningRange> running_;
  Held<ScheduledRange> scheduled_;
  Standings standings_;  // of tasks that had finished before
  std::set<std::int64_t> cancelled_;
  std::vector<FinishedRange> finished_;
};

Cancellation::Cancellation(Transaction& transaction, std::span<const CancelWish> wishes)
    : batch_(std::make_unique<Batch>(transaction, wishes)), wishes_(wishes.size()) {}

Cancellation::~Cancellation() = default;

std::optional<std::vector<CancelOutcome>> Cancellation::run() {
  if (!batch_->prepare()) return std::nullopt;
  std::vector<CancelOutcome> outcomes;
  for (std::size_t i = 0; i < wishes_; ++i) outcomes.push_back(batch_->cancel(i));
  batch_->write();
  return outcomes;
}

void Cancellation::lower(Floors& floors) const { batch_->lower(floors); }

Result<std::vector<CancelOutcome>> Canceller::cancel(std::span<const CancelWish> wishes) {
  if (wishes.empty()) return std::vector<CancelOutcome>();
  return pool_.transact<std::vector<CancelOutcome>>(
      [&](Transaction& transaction) -> Result<std::vector<CancelOutcome>> {
        Cancellation cancellation(transaction, wishes);
        auto outcomes = cancellation.run();
        if (!outcomes) return transaction.failure()->error;
        if (auto done = transaction.commit(); !done.ok()) return done.error();
        cancellation.lower(floors_);
        return std::move(*outcomes);
      },
      Repeat::kAlways);  // a cancelled task stays so
}

}  // namespace horae::postgres
