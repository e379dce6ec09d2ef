#include "stores/postgres/tasks/upkeep.h"

#include <algorithm>
#include <map>
#include <set>

#include "stores/postgres/layout/look_up.h"
#include "stores/postgres/layout/places.h"
#include "stores/postgres/layout/tally.h"
#include "stores/postgres/connection/time.h"
#include "stores/postgres/layout/trail.h"
#include "stores/postgres/connection/values.h"
#include "model/effect.h"
#include "stores/upkeep_parts.h"

namespace horae::postgres {
namespace {

// ---- Promote ----

// `lo + 0` is how scheduled_due and running_expires have the number: see migration 0007.
const Sql kLockDue{"lock_due",
                   "select r.lo, r.hi, r.queue, r.attempt, r.tries, r.max_attempts, r.recurring, null::timestamptz,"
                   " r.ended_event, r.ended_owner, r.due, r.priority, r.updated_at from scheduled as r"
                   " where r.due <= horae_now() order by r.due, r.lo + 0 limit $1::bigint for update skip locked"};
// The rank comes from the queue's ageing and the store's clock (src/model/rank.h). A task whose queue has lost its row
// is ready too, as in a queue without settings: it must not be lost, nor hold the others up.
const ValuesStatement kMakeReady{
    "promote",
    "insert into ready (lo, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at,"
    " ended_event, ended_owner)"
    " select d.lo, d.hi, d.queue, coalesce(q.base, 0) + coalesce(q.rate, 1) * (s.second - coalesce(q.since, 0)) - "
    "d.priority, s.second, horae_now(), "
    "d.attempt,"
    " d.tries, d.max_attempts, d.recurring, d.run_at, d.ended_event, d.ended_owner"
    " from (select floor(extract(epoch from horae_now()))::bigint as second) as s, (",
    11,
    ") as d(lo, hi, queue, priority, attempt, tries, max_attempts, recurring, run_at, ended_event, ended_owner)"
    " left join queue as q on q.no = d.queue"
    " returning queue, rank"};
const Sql kNextDue{"next_due", "select horae_now(), (select due from scheduled order by due limit 1)"};

// ---- The monitor ----

const Sql kLook{"look", "select horae_now(), stamp, (select expires from running order by expires limit 1) from control"};
// Whoever stamps holds the row until the end: monitors come one after the other.
const Sql kStamp{"stamp", "update control set stamp = horae_now() where stamp is not distinct from $1::timestamptz"};
const Sql kStampIfFresh{"stamp_if_fresh",
                        "update control set stamp = horae_now() where stamp = $1::timestamptz"
                        " and horae_now() - stamp <= $2::bigint * interval '1 microsecond'"};
// Under a new stamp no lease may keep an old end. Whoever cuts a lease (settle, cancel) leaves pieces with the old one,
// which a statement that waits for the whole lease does not see. So this waits until nobody has a lease in hand, and
// keeps everybody out for the moment of one update: it is rare. Whoever locks a row holds the table in a mode that this
// one excludes, so that no row is locked when it is granted, and no order of rows in which to meet head-on. Leases that
// are given out afterwards have their full time anyway.
const Sql kKeepAllOut{"keep_all_out", "lock table running in exclusive mode"};
// All others queue behind it. One who holds a lease for longer is stuck: better to let the others pass, expire nothing
// and come again. Long enough for the server to call off a vacuum, which is in the way too (deadlock_timeout, 1 s).
const Sql kPatience{"extend_patience", "select set_config('lock_timeout', '3s', true)"};
const Sql kExtendAll{"extend_all",
                     "update running set expires = horae_now() + (length + 999) / 1000 * interval '1 microsecond'"};
const Sql kLockOverdue{"lock_overdue", std::string("select ") + kRunningColumns +
                                           " from running as l where l.expires < horae_now()"
                                           " order by l.expires, l.lo + 0 limit $1::bigint for update skip locked"};
const Sql kProgressOf{"progress_of",
                      "select p.number, p.progress from unnest($1::bigint[], $2::bigint[]) as r(lo, hi)"
                      " cross join lateral (select number, progress from progress"
                      "  where progress.number >= r.lo and progress.number <= r.hi offset 0) as p"
                      " where p.progress is not null"};
const Sql kIdsOf{
    "ids_of",
    "select t.number, t.id from unnest($1::bigint[], $2::bigint[]) as r(lo, hi)"
    " cross join lateral (select number, id from task where task.number >= r.lo and task.number <= r.hi offset 0) as t"};

// ---- Purge ----

// Around what looks for old ends: the index for that, finished_time, gives nothing but bitmaps, which sessions
// otherwise do without (connection.cc).
const Sql kAllowBitmaps{"allow_bitmaps", "select set_config('enable_bitmapscan', 'on', true)"};
const Sql kForbidBitmaps{"forbid_bitmaps", "select set_config('enable_bitmapscan', 'off', true)"};
// One purge at a time: two that each took a part of a range would both leave its row of the trail to the other.
const Sql kPurgeAlone{"purge_alone", "select pg_advisory_xact_lock(7205759403792795)"};
const Sql kRetention{"retention", "select horae_now(), min(retention) from queue"};
// `finished_time` finds the blocks that may hold some; the order is that of the ends.
const Sql kLockPurgeable{
    "lock_purgeable",
    "select o.lo, o.hi, o.queue, o.state from finished as o join queue as q on q.no = o.queue"
    " where o.finished_at < $2::timestamptz"
    " and o.finished_at < horae_now() - (q.retention + $3::bigint + 999) / 1000 * interval '1 microsecond'"
    " order by o.finished_at, o.lo limit $1::bigint for update of o skip locked"};
const Sql kDeleteFinished{"delete_finished", "delete from finished where lo = any($1::bigint[])"};
const Sql kCutOutcome{
    "cut_outcome", "update finished set lo = $2::bigint, results = results[$2::bigint - lo + 1:] where lo = $1::bigint"};
const Sql kDeleteTasks{"delete_tasks",
                       "delete from task using unnest($1::bigint[], $2::bigint[]) as r(lo, hi)"
                       " where number >= r.lo and number <= r.hi returning number, id, queue, key"};
const Sql kDeleteKeys{"delete_keys",
                      "delete from task_key using unnest($1::integer[], $2::text[], $3::bigint[]) as d(queue, key, number)"
                      " where task_key.queue = d.queue and task_key.key = d.key and task_key.number = d.number"};
const Sql kDeleteIds{"delete_ids",
                     "delete from task_id using unnest($1::uuid[], $2::bigint[]) as d(id, number)"
                     " where task_id.id = d.id and task_id.number = d.number"};
const Sql kDeleteTurns{"delete_turns", "delete from turn where number = any($1::bigint[])"};
// A row that speaks of others too stays until they go.
const Sql kDeleteTrail{"delete_trail",
                       "delete from trail using unnest($1::bigint[], $2::bigint[]) as r(lo, hi)"
                       " where trail.lo > r.lo - 64 and trail.lo <= r.hi and trail.hi >= r.lo"
                       " and not exists (select from task where task.number >= trail.lo and task.number <= trail.hi)"};
// By claim_token_age and running_token. A token under which something is leased stays.
const std::string kOldTokens = " from claim_token as c where c.claimed_at < horae_now() - interval '" +
                               std::to_string(std::chrono::duration_cast<std::chrono::seconds>(kTokenMemory).count()) +
                               " s' and not exists (select from running where running.token = c.token)";
const Sql kForgetTokens{"forget_tokens", "delete from claim_token where token = any(array(select c.token" + kOldTokens +
                                             " order by c.claimed_at limit $1::bigint))"};
const Sql kHasOldTokens{"has_old_tokens", "select exists (select" + kOldTokens + ")"};
const Sql kUncount{"uncount", "insert into tally select * from unnest($1::integer[], $2::smallint[], $3::bigint[])"};
const Sql kOldDays{"old_days", "select no from day where no < $1::bigint order by no"};
const Sql kDropDay{"drop_day", "select horae_drop_day($1::bigint)"};
const Sql kHasTasks{"has_tasks", "select exists (select from task where number >= $1::bigint and number <= $2::bigint)"};

// Days that are still written to: today, and those around it.
constexpr std::int64_t kDaysInUse = 3;

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

}  // namespace

Result<PromoteOutcome> Upkeep::promote_due(std::size_t max) {
  return pool_.transact<PromoteOutcome>([&](Transaction& transaction) -> Result<PromoteOutcome> {
    std::vector<ScheduledRange> due;
    for (const Row row : transaction.run(kLockDue, Params::of(static_cast<std::int64_t>(max)))) {
      due.push_back({.life = read_life(row, 0),
                     .due = row.instant(10),
                     .priority = row.small(11),
                     .updated_at = row.instant(12)});
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
      transaction.send(kPatience);
      transaction.send(kKeepAllOut);
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
    const Instant now = seen[0].instant(0);
    const auto stamp = seen[0].optional_instant(1);
    const bool has_leases = !seen[0].is_null(2);
    const auto silence = std::chrono::floor<std::chrono::microseconds>(wish.silence);
    const auto answer = [&](ExpireOutcome::Kind kind) -> Result<ExpireOutcome> {
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      return ExpireOutcome{.kind = kind};
    };
    if (!has_leases) return answer(ExpireOutcome::Kind::kDone);
    if (stamp != wish.seen) return answer(ExpireOutcome::Kind::kStampMoved);
    if (!stamp || now - *stamp > silence) return answer(ExpireOutcome::Kind::kTooOld);
    const auto stamped = transaction.run(kStampIfFresh, Params::of(*stamp, std::int64_t{silence.count()}));
    if (transaction.failed()) return transaction.failure()->error;
    if (stamped.affected() == 0) return answer(ExpireOutcome::Kind::kStampMoved);

    std::vector<RunningRange> overdue;
    for (const Row row : transaction.run(kLockOverdue, Params::of(static_cast<std::int64_t>(wish.max)))) {
      overdue.push_back(read_running(row));
    }
    const auto taken = take_up_to(overdue, wish.max);
    if (taken.empty()) return answer(ExpireOutcome::Kind::kDone);

    std::vector<Range> ranges;
    std::vector<std::int64_t> numbers;
    for (const RunningRange& lease : taken) {
      ranges.push_back(lease.life.range);
      for (std::int64_t number = lease.life.range.lo; number <= lease.life.range.hi; ++number)
        numbers.push_back(number);
    }
    const Params params = Params::of(los_of(ranges), his_of(ranges));
    const std::size_t ids = transaction.send(kIdsOf, params);
    std::map<std::int64_t, double> progress;
    for (const Row row : transaction.run(kProgressOf, params)) progress[row.integer(0)] = row.real(1);
    Trail trail(transaction);
    trail.read(numbers, {});
    std::set<int> queues;
    for (const RunningRange& lease : taken) queues.insert(lease.life.queue);
    auto names = find_queue_names(transaction, queues);

    ExpireOutcome outcome;
    std::vector<ReadyRange> ready;
    std::vector<FinishedRange> exhausted;
    std::map<std::int64_t, TaskId> id_of;
    for (const Row row : transaction.rows(ids)) id_of[row.integer(0)] = row.uuid(1);
    for (const RunningRange& lease : taken) {
      Life life = lease.life;
      ++life.tries;
      life.ended = AttemptEnd{Event::kExpire, lease.owner};
      const bool is_exhausted = life.max_attempts && life.tries >= *life.max_attempts;
      if (is_exhausted) {
        exhausted.push_back({.life = life,
                             .state = State::kAborted,
                             .owner = lease.owner,
                             .started_at = lease.started_at,
                             .errors = texts_of({attempts_exhausted()})});
      } else {
        ready.push_back({.life = life, .rank = lease.rank, .at = lease.at});
      }
      for (std::int64_t number = life.range.lo; number <= life.range.hi; ++number) {
        const auto reached = progress.find(number);
        trail.note_end(number, life.attempt, lease.owner, lease.started_at, HistoryKind::kTimeout,
                       reached == progress.end() ? 0.0 : reached->second, "");
        outcome.expired.push_back({.id = id_of[number],
                                   .queue = names[life.queue],
                                   .owner = lease.owner,
                                   .attempt = life.attempt,
                                   .state = is_exhausted ? State::kAborted : State::kReady});
      }
    }
    delete_running(transaction, firsts_of(taken));
    insert_running(transaction, rest_of(overdue, taken));
    insert_ready(transaction, ready);
    insert_finished(transaction, exhausted);
    reset_progress(transaction, ranges, false);
    trail.write();
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    for (const ReadyRange& run : ready) floors_.lower(run.life.queue, run.rank);
    return outcome;
  });
}

// Whole days cost nothing to remove. One that must stay is left to the rest of purge().
Result<std::size_t> Upkeep::drop_days() {
  if (auto refreshed = days_.refresh(); !refreshed.ok()) return refreshed.error();
  const std::int64_t in_use = days_.today() - kDaysInUse;
  const auto days =
      pool_.look<std::vector<std::int64_t>>([&](Transaction& transaction) -> Result<std::vector<std::int64_t>> {
        std::vector<std::int64_t> old;
        for (const Row row : transaction.run(kOldDays, Params::of(in_use))) {
          const std::int64_t day = row.integer(0);
          const Range numbers = numbers_of_day(day);
          // Without a delay tasks go one by one, and only what is empty is dropped.
          const bool is_empty = purge_delay_ > Duration::zero() ||
                                !transaction.run(kHasTasks, Params::of(numbers.lo, numbers.hi))[0].boolean(0);
          if (is_empty) old.push_back(day);
        }
        if (auto done = transaction.commit(); !done.ok()) return done.error();
        return old;
      });
  if (!days.ok()) return days.error();
  std::size_t purged = 0;
  for (const std::int64_t day : *days) {
    const auto dropped = pool_.transact<std::size_t>([&](Transaction& transaction) -> Result<std::size_t> {
      transaction.send(kAllowBitmaps);
      const std::size_t answer = transaction.send(kDropDay, Params::of(day));
      if (auto done = transaction.commit(); !done.ok()) {
        if (transaction.failure()->sqlstate == "55P03") return std::size_t{0};  // somebody works there: another time
        return done.error();
      }
      return static_cast<std::size_t>(transaction.rows(answer)[0].optional_integer(0).value_or(0));
    });
    if (!dropped.ok()) return dropped.error();
    purged += *dropped;
  }
  return purged;
}

Result<PurgeOutcome> Upkeep::purge(std::size_t max) {
  const auto dropped = drop_days();
  if (!dropped.ok()) return dropped.error();
  if (auto folded = fold_tally(pool_); !folded.ok()) return folded.error();
  return pool_.transact<PurgeOutcome>([&](Transaction& transaction) -> Result<PurgeOutcome> {
    PurgeOutcome outcome{.purged = *dropped};
    transaction.send(kAllowBitmaps);
    transaction.send(kPurgeAlone);
    const Rows retention = transaction.run(kRetention);
    if (transaction.failed()) return transaction.failure()->error;
    if (retention[0].is_null(1)) {
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      return outcome;
    }
    const Instant newest = retention[0].instant(0) -
                           std::chrono::floor<std::chrono::microseconds>(retention[0].duration(1) + purge_delay_);
    // One more than asked for, to know whether there is more.
    const Rows locked = transaction.run(
        kLockPurgeable, Params::of(static_cast<std::int64_t>(max + 1), newest, std::int64_t{purge_delay_.count()}));
    transaction.send(kForbidBitmaps);
    std::vector<Range> ranges;
    std::vector<std::int64_t> whole;
    std::vector<std::int32_t> queues;
    std::vector<std::int16_t> states;
    std::vector<std::int64_t> counts;
    auto left = static_cast<std::int64_t>(max);
    for (const Row row : locked) {
      if (left == 0) {
        outcome.more = true;
        break;
      }
      const Range range{row.integer(0), row.integer(1)};
      const Range part{range.lo, std::min(range.hi, range.lo + left - 1)};
      ranges.push_back(part);
      if (part == range) {
        whole.push_back(range.lo);
      } else {
        transaction.send(kCutOutcome, Params::of(range.lo, part.hi + 1));
        outcome.more = true;
      }
      queues.push_back(row.small(2));
      states.push_back(static_cast<std::int16_t>(row.small(3)));
      counts.push_back(-part.size());
      left -= part.size();
      outcome.purged += static_cast<std::size_t>(part.size());
    }
    if (!ranges.empty()) {
      const Params params = Params::of(los_of(ranges), his_of(ranges));
      if (!whole.empty()) transaction.send(kDeleteFinished, Params::of(whole));
      transaction.send(kUncount, Params::of(queues, states, counts));
      std::vector<std::int64_t> numbers, key_numbers;
      std::vector<TaskId> ids;
      std::vector<std::int32_t> key_queues;
      std::vector<std::string> keys;
      for (const Row row : transaction.run(kDeleteTasks, params)) {
        numbers.push_back(row.integer(0));
        ids.push_back(row.uuid(1));
        if (row.is_null(3)) continue;
        key_numbers.push_back(row.integer(0));
        key_queues.push_back(row.small(2));
        keys.push_back(row.text(3));
      }
      if (!keys.empty()) transaction.send(kDeleteKeys, Params::of(key_queues, keys, key_numbers));
      transaction.send(kDeleteIds, Params::of(ids, numbers));
      transaction.send(kDeleteTurns, Params::of(numbers));
      transaction.send(kDeleteTrail, params);
      reset_progress(transaction, ranges, true);
    }
    transaction.send(kForgetTokens, Params::of(static_cast<std::int64_t>(max)));
    const std::size_t more_tokens = transaction.send(kHasOldTokens);
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    outcome.more = outcome.more || transaction.rows(more_tokens)[0].boolean(0);
    return outcome;
  });
}

}  // namespace horae::postgres
