#include "stores/postgres/tasks/purge.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/layout/places.h"
#include "stores/postgres/layout/queue_end.h"
#include "stores/postgres/layout/tally.h"

namespace horae::postgres {
namespace {

const Sql kAllowBitmaps = statement("allow_bitmaps");
const Sql kForbidBitmaps = statement("forbid_bitmaps");
const Sql kPurgeAlone = statement("purge_alone");
const Sql kRetention = statement("retention");
const Sql kLockPurgeable = statement("lock_purgeable");
const Sql kLockFinished = statement("lock_finished_of_queue");
const Sql kDeleteFinished = statement("delete_finished", Changes::kEach);
const Sql kCutFinished = statement("cut_finished", Changes::kOne);
const Sql kDeleteTasks = statement("delete_tasks", Changes::kAny);
const Sql kDeleteKeys = statement("delete_keys", Changes::kAny);
const Sql kDeleteIds = statement("delete_ids", Changes::kAny);
const Sql kDeleteTurns = statement("delete_turns", Changes::kAny);
const Sql kDeleteTrail = statement("delete_trail", Changes::kAny);
const Sql kForgetTokens = statement("forget_tokens", Changes::kAny);
const Sql kHasOldTokens = statement("has_old_tokens");
const Sql kUncount = statement("uncount", Changes::kEach);
const Sql kOldDays = statement("old_days");
const Sql kDropDay = statement("drop_day");
const Sql kHasTasks = statement("has_tasks");

// Days that are still written to: today, and those around it.
constexpr std::int64_t kDaysInUse = 3;

// Ranges of finished tasks, whole or cut, that leave the tables.
class Removal {
 public:
  explicit Removal(Transaction& transaction) : transaction_(transaction) {}

  // Takes `max` tasks from locked ranges (columns as in lock_purgeable), in their order. True if some are left.
  bool take(const Rows& locked, std::size_t max) {
    auto left = static_cast<std::int64_t>(max);
    for (const Row row : locked) {
      if (left == 0) return true;
      const Range range{row.integer(0), row.integer(1)};
      const Range part{range.lo, std::min(range.hi, range.lo + left - 1)};
      ranges_.push_back(part);
      queues_.push_back(row.small(2));
      states_.push_back(static_cast<std::int16_t>(row.small(3)));
      counts_.push_back(-part.size());
      left -= part.size();
      taken_ += static_cast<std::size_t>(part.size());
      if (part == range) {
        whole_.push_back(range.lo);
      } else {
        transaction_.send(kCutFinished, Params::of(range.lo, part.hi + 1));
        return true;
      }
    }
    return false;
  }

  std::size_t taken() const { return taken_; }

  // Deletes what was taken, with all that belongs to these tasks.
  void send() {
    if (ranges_.empty()) return;
    const Params params = Params::of(los_of(ranges_), his_of(ranges_));
    if (!whole_.empty()) transaction_.send(kDeleteFinished, Params::of(whole_));
    transaction_.send(kUncount, Params::of(queues_, states_, counts_));
    std::vector<std::int64_t> numbers, key_numbers;
    std::vector<TaskId> ids;
    std::vector<std::int32_t> key_queues;
    std::vector<std::string> keys;
    for (const Row row : transaction_.run(kDeleteTasks, params)) {
      numbers.push_back(row.integer(0));
      ids.push_back(row.uuid(1));
      if (row.is_null(3)) continue;
      key_numbers.push_back(row.integer(0));
      key_queues.push_back(row.small(2));
      keys.push_back(row.text(3));
    }
    if (!keys.empty()) transaction_.send(kDeleteKeys, Params::of(key_queues, keys, key_numbers));
    transaction_.send(kDeleteIds, Params::of(ids, numbers));
    transaction_.send(kDeleteTurns, Params::of(numbers));
    transaction_.send(kDeleteTrail, params);
    reset_progress(transaction_, ranges_, true);
  }

 private:
  Transaction& transaction_;
  std::vector<Range> ranges_;
  std::vector<std::int64_t> whole_;  // first numbers of ranges that were taken whole
  std::vector<std::int32_t> queues_;
  std::vector<std::int16_t> states_;
  std::vector<std::int64_t> counts_;
  std::size_t taken_ = 0;
};

}  // namespace

// The days before those in use that may be dropped as a whole.
Result<std::vector<std::int64_t>> Purger::find_old_days() {
  const std::int64_t in_use = days_.today() - kDaysInUse;
  using Answer = std::vector<std::int64_t>;
  return pool_.look<Answer>([&](Transaction& transaction) -> Result<Answer> {
    Answer old;
    transaction.be_patient();
    for (const Row row : transaction.run(kOldDays, Params::of(in_use))) {
      const std::int64_t day = row.integer(0);
      const Range numbers = numbers_of_day(day);
      // Without a delay tasks are purged one by one, and only empty days are dropped.
      const bool may_go =
          delay_ > Duration::zero() || !transaction.run(kHasTasks, Params::of(numbers.lo, numbers.hi))[0].boolean(0);
      if (may_go) old.push_back(day);
    }
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return old;
  });
}

// Returns how many tasks were dropped with the day.
Result<std::size_t> Purger::drop_day(std::int64_t day) {
  return pool_.transact<std::size_t>([&](Transaction& transaction) -> Result<std::size_t> {
    transaction.be_patient();
    transaction.send(kAllowBitmaps);
    const std::size_t answer = transaction.send(kDropDay, Params::of(day));
    if (auto done = transaction.commit(); !done.ok()) {
      if (transaction.failure()->sqlstate == "55P03") return std::size_t{0};  // a transaction works there: retry later
      return done.error();
    }
    return static_cast<std::size_t>(transaction.rows(answer)[0].optional_integer(0).value_or(0));
  });
}

// Dropping whole days is cheap. The tasks of a day that must stay are left to the rest of purge().
Result<std::size_t> Purger::drop_days() {
  if (auto refreshed = days_.refresh(); !refreshed.ok()) return refreshed.error();
  const auto days = find_old_days();
  if (!days.ok()) return days.error();
  std::size_t purged = 0;
  for (const std::int64_t day : *days) {
    const auto dropped = drop_day(day);
    if (!dropped.ok()) return dropped.error();
    purged += *dropped;
  }
  return purged;
}

// Queues come last, when nothing is left that holds them.
Result<PurgeOutcome> Purger::purge(std::size_t max) {
  auto outcome = purge_tasks(max);
  if (!outcome.ok() || outcome->more) return outcome;
  const auto forgotten = forget_queues(pool_, max);
  if (!forgotten.ok()) return forgotten.error();
  names_.forget_numbers(*forgotten);
  return outcome;
}

Result<std::size_t> purge_queue(Pool& pool, int queue, std::size_t max) {
  return pool.transact<std::size_t>([&](Transaction& transaction) -> Result<std::size_t> {
    transaction.send(kPurgeAlone);
    const Rows locked = transaction.run(kLockFinished, Params::of(std::int32_t{queue}, static_cast<std::int64_t>(max)));
    if (transaction.failed()) return transaction.failure()->error;
    Removal removal(transaction);
    (void)removal.take(locked, max);
    removal.send();
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return removal.taken();
  });
}

Result<PurgeOutcome> Purger::purge_tasks(std::size_t max) {
  const auto dropped = drop_days();
  if (!dropped.ok()) return dropped.error();
  if (auto folded = fold_tally(pool_); !folded.ok()) return folded.error();
  return pool_.transact<PurgeOutcome>([&](Transaction& transaction) -> Result<PurgeOutcome> {
    PurgeOutcome outcome{.purged = *dropped};
    transaction.be_patient();
    transaction.send(kAllowBitmaps);
    transaction.send(kPurgeAlone);
    const Rows retention = transaction.run(kRetention);
    if (transaction.failed()) return transaction.failure()->error;
    if (retention[0].is_null(1)) {
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      return outcome;
    }
    const Instant newest =
        retention[0].instant(0) - std::chrono::floor<std::chrono::microseconds>(retention[0].duration(1) + delay_);
    // One more than wanted shows whether some are left.
    const Rows locked = transaction.run(kLockPurgeable, Params::of(static_cast<std::int64_t>(max + 1), newest, delay_));
    transaction.send(kForbidBitmaps);
    Removal removal(transaction);
    outcome.more = removal.take(locked, max);
    outcome.purged += removal.taken();
    removal.send();
    transaction.send(kForgetTokens, Params::of(kTokenMemory, static_cast<std::int64_t>(max)));
    const std::size_t more_tokens = transaction.send(kHasOldTokens, Params::of(kTokenMemory));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    outcome.more = outcome.more || transaction.rows(more_tokens)[0].boolean(0);
    return outcome;
  });
}

}  // namespace horae::postgres
