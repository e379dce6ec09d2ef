#include "stores/sqlite/settle.h"

#include "base/check.h"
#include "base/mutant.h"

namespace horae::sqlite {
namespace {

// Every change of a running task names the state, owner and attempt that it expects.
const std::string kWhereHeld = " WHERE number = ? AND state = 2 AND attempt = ? AND owner = ?";

// What a late complete or abort brought.
std::string late_detail(const Settlement& settlement) {
  return history_detail(settlement.event == Event::kAbort ? to_json(settlement.errors)
                                                          : settlement.result.value_or(""));
}

// Of the lease, after a heartbeat.
Duration length_after(const Life& life, const Settlement& settlement) {
  return settlement.lease.value_or(life.lease.value_or(kDefaultLease));
}

bool brings_result(Event event) { return event == Event::kComplete || event == Event::kAbort; }

}  // namespace

Settler::Settler(Writer& writer, Lives& lives)
    : lives_(lives),
      heartbeat_(writer.database(), "UPDATE life SET lease = ?, lease_expires = ?" + kWhereHeld),
      set_progress_(writer.database(), "UPDATE life SET progress = ?, updated_at = ?" + kWhereHeld),
      set_checkpoint_flag_(writer.database(), "UPDATE life SET has_checkpoint = 1, updated_at = ?" + kWhereHeld),
      // Completed or aborted: the owner and the beginning of the attempt stay, the lease goes. An abort brings no
      // result: what an earlier turn brought stays.
      finish_(writer.database(),
              "UPDATE life SET state = ?, progress = ?, result = COALESCE(?, result), token = NULL, lease = NULL,"
              " lease_expires = NULL, ended_event = ?, ended_owner = owner, updated_at = ?" +
                  kWhereHeld),
      schedule_(
          writer.database(),
          "UPDATE life SET state = 0, run_at = ?, tries = ?, progress = 0.0, has_checkpoint = has_checkpoint AND ?,"
          " rank = NULL, ready_second = NULL, owner = NULL, started_at = NULL, token = NULL, lease = NULL,"
          " lease_expires = NULL, ended_event = ?, ended_owner = owner, updated_at = ?" +
              kWhereHeld),
      set_result_(writer.database(), "UPDATE life SET result = ?" + kWhereHeld),
      // Ready again: rank and ready_second are those it had.
      give_back_(
          writer.database(),
          "UPDATE life SET state = 1, progress = CASE ?1 WHEN 1 THEN 0.0 ELSE progress END, owner = NULL,"
          " started_at = NULL, token = NULL, lease = NULL, lease_expires = NULL, ended_event = ?2, ended_owner = owner,"
          " updated_at = ?3 WHERE number = ?4 AND state = 2 AND attempt = ?5 AND owner = ?6"),
      cancel_(writer.database(),
              "UPDATE life SET state = 5, cancel_reason = ?, token = NULL, lease = NULL, lease_expires = NULL, "
              "updated_at = ?,"
              " ended_event = ?, ended_owner = ? WHERE number = ? AND state = ? AND attempt = ?") {}

std::vector<SettleOutcome> Settler::settle(std::span<const Settlement> settlements, Change& change) {
  std::vector<SettleOutcome> outcomes;
  outcomes.reserve(settlements.size());
  for (const Settlement& settlement : settlements) outcomes.push_back(settle_one(settlement, change));
  return outcomes;
}

SettleOutcome Settler::settle_one(const Settlement& settlement, Change& change) {
  const auto life = lives_.find(settlement.id, settlement.scope);
  const Verdict verdict = judge(life ? std::optional(life->holding()) : std::nullopt, settlement.event,
                                settlement.attempt, settlement.owner);
  if (!life) return {.verdict = verdict};

  SettleOutcome outcome{verdict, life->state, life->attempt, life->newest_owner(), life->lease_expires};
  if (verdict == Verdict::kAccepted) {
    switch (settlement.event) {
      case Event::kHeartbeat:
        outcome.state = heartbeat(*life, settlement, change);
        break;
      case Event::kComplete:
        outcome.state = complete(*life, settlement, change);
        break;
      case Event::kAbort:
        outcome.state = abort(*life, settlement, change);
        break;
      case Event::kYield:
        outcome.state = yield(*life, settlement, change);
        break;
      case Event::kRelease:
        outcome.state = release(*life, change);
        break;
      default:
        check_failed("event", __FILE__, __LINE__, "check_settlement() lets no other event pass");
    }
    outcome.lease_expires.reset();
    if (outcome.state == State::kRunning) outcome.lease_expires = change.after(length_after(*life, settlement));
    if (outcome.state != State::kRunning) change.moved(life->queue, State::kRunning, outcome.state);
  } else if (verdict != Verdict::kRepeated && brings_result(settlement.event)) {
    keep_late_result(*life, settlement, change);
  }
  return outcome;
}

State Settler::heartbeat(const Life& life, const Settlement& settlement, Change& change) {
  const Duration length = length_after(life, settlement);
  heartbeat_.run(length, change.after(length), life.number, life.attempt, life.owner);
  if (settlement.progress) set_progress_.run(*settlement.progress, change.now(), life.number, life.attempt, life.owner);
  if (settlement.checkpoint) {
    lives_.save_checkpoint(life.number, *settlement.checkpoint);
    set_checkpoint_flag_.run(change.now(), life.number, life.attempt, life.owner);
  }
  return State::kRunning;
}

State Settler::complete(const Life& life, const Settlement& settlement, Change& change) {
  if (life.recurring && !HORAE_MUTANT("recurrence_lost_on_crash")) {
    set_result_.run(settlement.result, life.number, life.attempt, life.owner);
    lives_.note(life, HistoryKind::kAssignment, *life.started_at, std::nullopt, "");
    lives_.drop_checkpoint(life.number);
    schedule_again(life, Event::kComplete, *life.recurring, 0, change);
    return State::kScheduled;
  }
  finish_.run(State::kCompleted, 1.0, settlement.result, Event::kComplete, change.now(), life.number, life.attempt,
              life.owner);
  return State::kCompleted;
}

State Settler::abort(const Life& life, const Settlement& settlement, Change& change) {
  const Rules rules = lives_.rules_of(life);
  const int tries = HORAE_MUTANT("aborts_cost_no_try") ? 1 : life.tries + 1;
  if (const auto delay = retry_delay(rules.retry, tries, rules.max_attempts, settlement.chance)) {
    lives_.note(life, HistoryKind::kRetry, change.now(), std::nullopt, history_detail(to_json(settlement.errors)));
    schedule_again(life, Event::kAbort, *delay, tries, change);
    return State::kScheduled;
  }
  finish_.run(State::kAborted, life.progress, nullptr, Event::kAbort, change.now(), life.number, life.attempt,
              life.owner);
  lives_.save_errors(life.number, settlement.errors);
  return State::kAborted;
}

void Settler::schedule_again(const Life& life, Event event, Duration delay, int tries, Change& change) {
  const bool keep_checkpoint = event == Event::kAbort;
  if (HORAE_MUTANT("turns_without_a_pause")) delay = Duration::zero();
  schedule_.run(change.after(delay), tries, keep_checkpoint, event, change.now(), life.number, life.attempt,
                life.owner);
}

State Settler::yield(const Life& life, const Settlement& settlement, Change& change) {
  if (settlement.checkpoint) {
    lives_.save_checkpoint(life.number, *settlement.checkpoint);
    set_checkpoint_flag_.run(change.now(), life.number, life.attempt, life.owner);
  }
  lives_.note(life, HistoryKind::kYield, change.now(), settlement.progress.value_or(life.progress), "");
  if (HORAE_MUTANT("timeout_after_yield")) lives_.note(life, HistoryKind::kTimeout, change.now(), std::nullopt, "");
  give_back_.run(1, Event::kYield, change.now(), life.number, life.attempt, life.owner);
  return State::kReady;
}

State Settler::release(const Life& life, Change& change) {
  lives_.forget_assignment(life);
  give_back_.run(0, Event::kRelease, change.now(), life.number, life.attempt, life.owner);
  return State::kReady;
}

void Settler::keep_late_result(const Life& life, const Settlement& settlement, Change& change) {
  if (settlement.attempt < 1 || settlement.attempt > life.attempt || HORAE_MUTANT("late_result_is_lost")) return;
  lives_.note_late_result(life, settlement.attempt, settlement.owner, change.now(), late_detail(settlement));
}

std::vector<CancelOutcome> Settler::cancel(std::span<const CancelWish> wishes, Change& change) {
  std::vector<CancelOutcome> outcomes;
  outcomes.reserve(wishes.size());
  for (const CancelWish& wish : wishes) outcomes.push_back(cancel_one(wish, change));
  return outcomes;
}

CancelOutcome Settler::cancel_one(const CancelWish& wish, Change& change) {
  const auto life = lives_.find(wish.id, wish.scope);
  if (!life) return {.verdict = Verdict::kNotFound};
  if (life->state == State::kCancelled) return {Verdict::kRepeated, life->state};
  if (!is_allowed(Event::kCancel, life->state)) return {Verdict::kWrongState, life->state};

  // A cancel ends the attempt that runs; else the end of the one before stays the newest.
  auto ended = life->ended;
  if (life->state == State::kRunning) ended = AttemptEnd{Event::kCancel, life->owner.value_or("")};
  if (HORAE_MUTANT("cancel_spares_the_running") && life->state == State::kRunning)
    return {Verdict::kAccepted, life->state};
  cancel_.run(wish.reason, change.now(), ended ? std::optional(ended->event) : std::nullopt,
              ended ? std::optional(ended->owner) : std::nullopt, life->number, life->state, life->attempt);
  if (!HORAE_MUTANT("counts_drift")) change.moved(life->queue, life->state, State::kCancelled);
  return {Verdict::kAccepted, State::kCancelled};
}

}  // namespace horae::sqlite
