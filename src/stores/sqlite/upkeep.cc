#include "stores/sqlite/upkeep.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "stores/upkeep_parts.h"

namespace horae::sqlite {
namespace {

std::optional<Instant> only_instant(Statement& statement) {
  std::optional<Instant> instant;
  if (statement.next()) instant = statement.optional_instant(0);
  statement.finish();
  return instant;
}

// Every change of a running task names the state, owner and attempt that it expects.
std::string where_held() {
  if (HORAE_MUTANT("expire_without_compare")) return " WHERE number = ? AND attempt = ? AND owner = ?";
  return " WHERE number = ? AND state = 2 AND attempt = ? AND owner = ?";
}

// Running tasks whose lease has ended, most overdue first.
std::string overdue() {
  if (HORAE_MUTANT("expire_by_age")) return "state = 2 AND started_at + lease / 1000 < ?";
  if (HORAE_MUTANT("expire_without_compare")) return "state BETWEEN 2 AND 3 AND ifnull(lease_expires, updated_at) < ?";
  return "state = 2 AND lease_expires < ?";
}

std::string finished() { return HORAE_MUTANT("purge_takes_the_unfinished") ? "state <> 2" : "state >= 3"; }

void add_once(std::vector<std::string>& names, std::string name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

}  // namespace

Upkeep::Upkeep(Writer& writer, Lives& lives)
    : writer_(writer),
      lives_(lives),
      due_(writer.database(),
           "SELECT number, life.queue, priority, queue.name FROM life JOIN task USING (number)"
           " JOIN queue ON queue.no = life.queue WHERE state = 0 AND run_at <= ? ORDER BY run_at, number LIMIT ?"),
      next_due_(writer.database(), "SELECT min(run_at) FROM life WHERE state = 0"),
      promote_(writer.database(),
               "UPDATE life SET state = 1, rank = ?, ready_second = ?, updated_at = ? WHERE number = ? AND state = 0"),
      stamp_(writer.database(), "SELECT stamp FROM control"),
      set_stamp_(writer.database(), "UPDATE control SET stamp = ?"),
      first_expiry_(writer.database(), "SELECT min(lease_expires) FROM life WHERE state = 2"),
      extend_(writer.database(), "UPDATE life SET lease_expires = ? + lease / 1000 WHERE state = 2"),
      overdue_(writer.database(),
               "SELECT number FROM life WHERE " + overdue() + " ORDER BY lease_expires, number LIMIT ?"),
      // Ready again, with the rank it had.
      expire_(
          writer.database(),
          "UPDATE life SET state = 1, tries = tries + 1, progress = 0.0, owner = NULL, started_at = NULL, token = NULL,"
          " lease = NULL, lease_expires = NULL, ended_event = ?, ended_owner = owner, updated_at = ?" +
              where_held()),
      exhaust_(writer.database(),
               "UPDATE life SET state = 4, tries = tries + 1, progress = 0.0, token = NULL, lease = NULL, "
               "lease_expires = NULL,"
               " ended_event = ?, ended_owner = owner, updated_at = ?" +
                   where_held()),
      name_(writer.database(), "SELECT id, queue.name FROM task JOIN queue ON queue.no = task.queue WHERE number = ?"),
      retentions_(writer.database(), "SELECT no, retention FROM queue"),
      purgeable_(writer.database(), "SELECT number FROM life WHERE queue = ? AND " + finished() +
                                        " AND updated_at < ? ORDER BY updated_at LIMIT ?"),
      purge_life_(writer.database(), "DELETE FROM life WHERE number = ? AND " + finished() + " RETURNING state"),
      purge_task_(writer.database(), "DELETE FROM task WHERE number = ?"),
      purge_checkpoint_(writer.database(), "DELETE FROM checkpoint WHERE number = ?"),
      purge_errors_(writer.database(), "DELETE FROM error WHERE number = ?"),
      purge_trail_(writer.database(), "DELETE FROM trail WHERE number = ?"),
      raise_high_number_(writer.database(), "UPDATE control SET high_number = max(high_number, ?)"),
      // All running tasks are read once for all tokens that are old enough.
      old_tokens_(writer.database(),
                  "SELECT token FROM claim_token WHERE claimed_at < ? AND token NOT IN"
                  " (SELECT token FROM life INDEXED BY life_lease WHERE state = 2 AND token IS NOT NULL)"
                  " ORDER BY claimed_at LIMIT ?"),
      forget_token_(writer.database(), "DELETE FROM claim_token WHERE token = ?") {}

Result<PromoteOutcome> Upkeep::promote_due(std::size_t max) {
  return writer_.transact<PromoteOutcome>([&](Change& change) {
    std::vector<Due> due;
    due_.start(change.now() + std::chrono::seconds(HORAE_MUTANT("promote_before_due") ? 1 : 0), max);
    while (due_.next()) due.push_back({due_.integer(0), due_.integer(1), due_.small(2), due_.text(3)});

    PromoteOutcome outcome{.promoted = due.size()};
    for (Due& task : due) {
      const Ageing ageing = writer_.queue_by_number(task.queue).ageing;
      promote_.run(rank_of(ageing, change.now_second(), task.priority), change.now_second(), change.now(), task.number);
      change.moved(task.queue, State::kScheduled, State::kReady);
      add_once(outcome.queues, std::move(task.queue_name));
    }
    outcome.next_in = time_left(only_instant(next_due_.start()), change.now());
    return outcome;
  });
}

std::optional<Instant> Upkeep::stamp() { return only_instant(stamp_.start()); }

bool Upkeep::has_leases() { return only_instant(first_expiry_.start()).has_value(); }

Result<Watch> Upkeep::look() {
  return writer_.transact<Watch>([&](Change& change) {
    const auto first = only_instant(first_expiry_.start());
    return Watch{.now = change.now(),
                 .stamp = stamp(),
                 .has_leases = first.has_value(),
                 .next_expiry_in = time_left(first, change.now())};
  });
}

Result<bool> Upkeep::extend_leases(const std::optional<Instant>& seen) {
  return writer_.transact<bool>([&](Change& change) {
    if (stamp() != seen) return false;
    if (!HORAE_MUTANT("extension_is_lost")) extend_.run(change.now());
    set_stamp_.run(change.now());
    return true;
  });
}

Result<ExpireOutcome> Upkeep::expire_leases(const ExpireWish& wish) {
  return writer_.transact<ExpireOutcome>([&](Change& change) {
    if (!has_leases()) return ExpireOutcome{};
    const auto last = stamp();
    if (last != wish.seen) return ExpireOutcome{.kind = ExpireOutcome::Kind::kStampMoved};
    const auto silence = std::chrono::floor<std::chrono::microseconds>(wish.silence);
    const bool is_old = !last || change.now() - *last > silence;
    if (is_old && !HORAE_MUTANT("outage_is_the_workers_fault"))
      return ExpireOutcome{.kind = ExpireOutcome::Kind::kTooOld};

    std::vector<std::int64_t> numbers;
    overdue_.start(change.now(), wish.max);
    while (overdue_.next()) numbers.push_back(overdue_.integer(0));
    ExpireOutcome outcome;
    for (const std::int64_t number : numbers) outcome.expired.push_back(expire_one(number, change));
    set_stamp_.run(change.now());
    return outcome;
  });
}

ExpiredLease Upkeep::expire_one(std::int64_t number, Change& change) {
  const Life life = lives_.find(number).value_or(Life{});
  const int max_attempts = lives_.rules_of(life).max_attempts;
  const bool exhausted = max_attempts > 0 && life.tries + 1 >= max_attempts && !HORAE_MUTANT("poison_never_ends");
  lives_.note(life, HistoryKind::kTimeout, change.now(), life.progress, "");
  (exhausted ? exhaust_ : expire_).run(Event::kExpire, change.now(), number, life.attempt, life.owner);
  if (exhausted) lives_.save_errors(number, {attempts_exhausted()});

  ExpiredLease expired{
      .owner = life.owner.value_or(""), .attempt = life.attempt, .state = exhausted ? State::kAborted : State::kReady};
  if (name_.start(number).next()) {
    expired.id = name_.uuid(0);
    expired.queue = name_.text(1);
    name_.finish();
  }
  change.moved(life.queue, State::kRunning, expired.state);
  return expired;
}

Result<PurgeOutcome> Upkeep::purge(std::size_t max) {
  return writer_.transact<PurgeOutcome>([&](Change& change) {
    PurgeOutcome outcome = purge_tasks(max, change);
    const bool has_more_tokens = forget_old_tokens(max, change);
    outcome.more = outcome.more || has_more_tokens;
    return outcome;
  });
}

PurgeOutcome Upkeep::purge_tasks(std::size_t max, Change& change) {
  std::vector<std::pair<std::int64_t, Duration>> queues;
  retentions_.start();
  while (retentions_.next()) queues.emplace_back(retentions_.integer(0), retentions_.duration(1));

  PurgeOutcome outcome;
  for (const auto& [queue, retention] : queues) {
    const auto kept = std::chrono::ceil<std::chrono::microseconds>(retention);
    const Instant before = change.now() - (HORAE_MUTANT("purge_ignores_retention") ? kept / 8 : kept);
    std::vector<std::int64_t> numbers;
    purgeable_.start(queue, before, max - outcome.purged + 1);  // one more, to know whether there is more
    while (purgeable_.next()) numbers.push_back(purgeable_.integer(0));
    for (const std::int64_t number : numbers) {
      if (outcome.purged == max) {
        outcome.more = true;
        return outcome;
      }
      outcome.purged += purge_one(number, queue, change) ? 1U : 0U;
    }
  }
  return outcome;
}

bool Upkeep::forget_old_tokens(std::size_t max, const Change& change) {
  std::vector<Uuid> tokens;
  old_tokens_.start(change.now() - std::chrono::ceil<std::chrono::microseconds>(kTokenMemory), max + 1);
  while (old_tokens_.next()) tokens.push_back(old_tokens_.uuid(0));
  const bool has_more = tokens.size() > max;
  if (has_more) tokens.resize(max);
  for (const Uuid& token : tokens) forget_token_.run(token);
  return has_more;
}

bool Upkeep::purge_one(std::int64_t number, std::int64_t queue, Change& change) {
  std::optional<State> state;
  purge_life_.start(number);
  while (purge_life_.next()) state = static_cast<State>(purge_life_.small(0));
  if (!state) return false;
  for (Statement* statement : {&purge_task_, &purge_checkpoint_, &purge_errors_, &purge_trail_}) statement->run(number);
  raise_high_number_.run(number);
  change.moved(queue, state, std::nullopt);
  return true;
}

}  // namespace horae::sqlite
