#include "stores/sqlite/upkeep.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "store/queue_store.h"
#include "stores/sqlite/statements.h"
#include "stores/upkeep_parts.h"

namespace horae::sqlite {
namespace {

constexpr auto kOld = std::chrono::duration_cast<std::chrono::microseconds>(kQueueMemory);

std::optional<Instant> only_instant(Statement& statement) {
  std::optional<Instant> instant;
  if (statement.next()) instant = statement.optional_instant(0);
  statement.finish();
  return instant;
}

std::string_view overdue() {
  if (HORAE_MUTANT("expire_by_age")) return statement("mutant_expire_by_age");
  if (HORAE_MUTANT("expire_without_compare")) return statement("mutant_expire_without_compare");
  return statement("upkeep_overdue");
}

void add_once(std::vector<std::string>& names, std::string name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

}  // namespace

Upkeep::Upkeep(Writer& writer, Lives& lives, Effects& effects)
    : writer_(writer),
      lives_(lives),
      effects_(effects),
      purger_(writer),
      due_(writer.database(), statement("upkeep_due")),
      next_due_(writer.database(), statement("upkeep_next_due")),
      promote_(writer.database(), statement("upkeep_promote")),
      stamp_(writer.database(), statement("upkeep_stamp")),
      set_stamp_(writer.database(), statement("upkeep_set_stamp")),
      first_expiry_(writer.database(), statement("upkeep_first_expiry")),
      extend_(writer.database(), statement("upkeep_extend")),
      extend_out_of_sight_(writer.database(), statement("upkeep_extend_out_of_sight")),
      overdue_(writer.database(), overdue()),
      name_(writer.database(), statement("upkeep_name")),
      retentions_(writer.database(), statement("upkeep_retentions")),
      forget_queues_(writer.database(), statement("upkeep_forget_queues")),
      old_tokens_(writer.database(), statement("upkeep_old_tokens")),
      forget_token_(writer.database(), statement("upkeep_forget_token")) {}

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
    if (!HORAE_MUTANT("extension_is_lost")) extend_.run_any(change.now());
    set_stamp_.run(change.now());
    return true;
  });
}

Result<ExpireOutcome> Upkeep::expire_leases(const ExpireWish& wish) {
  return writer_.transact<ExpireOutcome>([&](Change& change) {
    if (!has_leases()) return ExpireOutcome{};
    const auto last = stamp();
    if (last != wish.seen) return ExpireOutcome{.kind = ExpireOutcome::Kind::kStampMoved};
    if (!last) return ExpireOutcome{.kind = ExpireOutcome::Kind::kNoStamp};
    ExpireOutcome outcome{.extended = extend_out_of_sight(*last, wish.slack, change)};

    std::vector<std::int64_t> numbers;
    overdue_.start(change.now(), wish.max);
    while (overdue_.next()) numbers.push_back(overdue_.integer(0));
    for (const std::int64_t number : numbers) outcome.expired.push_back(expire_one(number, change));
    set_stamp_.run(change.now());
    return outcome;
  });
}

bool Upkeep::extend_out_of_sight(Instant last, Duration slack, const Change& change) {
  if (HORAE_MUTANT("outage_is_the_workers_fault") || HORAE_MUTANT("extension_is_lost")) return false;
  const auto micros = std::chrono::floor<std::chrono::microseconds>(slack).count();
  return extend_out_of_sight_.run_any(change.now(), last, std::int64_t{micros}) > 0;
}

ExpiredLease Upkeep::expire_one(std::int64_t number, Change& change) {
  const Life life = lives_.find(number).value_or(Life{});
  const Effect effect = effects_.of(life, Event::kExpire, {});
  effects_.write(life, Event::kExpire, effect, {}, change);
  ExpiredLease expired{.owner = life.owner.value_or(""), .attempt = life.attempt, .state = *effect.state};
  if (name_.start(number).next()) {
    expired.id = name_.uuid(0);
    expired.queue = name_.text(1);
    name_.finish();
  }
  return expired;
}

// Queues go in a transaction of their own, because the counts of one are written at its end.
Result<PurgeOutcome> Upkeep::purge(std::size_t max) {
  auto outcome = writer_.transact<PurgeOutcome>([&](Change& change) {
    PurgeOutcome purged = purge_tasks(max, change);
    const bool has_more_tokens = forget_old_tokens(max, change);
    purged.more = purged.more || has_more_tokens;
    return purged;
  });
  if (!outcome.ok() || outcome->more) return outcome;
  const auto forgotten =
      writer_.transact<bool>([&](Change& change) { return forget_queues_.run_any(change.now() - kOld, max) > 0; });
  if (!forgotten.ok()) return forgotten.error();
  return outcome;
}

PurgeOutcome Upkeep::purge_tasks(std::size_t max, Change& change) {
  std::vector<std::pair<std::int64_t, Duration>> queues;
  retentions_.start();
  while (retentions_.next()) queues.emplace_back(retentions_.integer(0), retentions_.duration(1));

  PurgeOutcome outcome;
  for (const auto& [queue, retention] : queues) {
    const auto kept = std::chrono::ceil<std::chrono::microseconds>(retention);
    const Instant before = change.now() - (HORAE_MUTANT("purge_ignores_retention") ? kept / 8 : kept);
    const PurgeOutcome of_queue = purger_.purge(queue, before, max - outcome.purged, change);
    outcome.purged += of_queue.purged;
    outcome.more = of_queue.more;
    if (outcome.more) break;
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

}  // namespace horae::sqlite
