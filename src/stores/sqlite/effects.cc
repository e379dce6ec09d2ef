#include "stores/sqlite/effects.h"

#include "base/mutant.h"
#include "stores/sqlite/statements.h"

namespace horae::sqlite {
namespace {

// The new value of the column has_checkpoint; nothing: it stays.
std::optional<bool> has_checkpoint(const Effect& effect) {
  if (effect.checkpoint == Effect::Checkpoint::kStays) return std::nullopt;
  return effect.checkpoint == Effect::Checkpoint::kReplaced;
}

// Of the columns ended_event and ended_owner. Where no attempt ends, the end of the one before stays the newest.
std::optional<AttemptEnd> newest_end(const Life& life, const Effect& effect) {
  return effect.ended ? AttemptEnd{*effect.ended, life.owner.value_or("")} : life.ended;
}

std::optional<Event> event_of(const std::optional<AttemptEnd>& end) {
  return end ? std::optional(end->event) : std::nullopt;
}

std::optional<std::string> owner_of(const std::optional<AttemptEnd>& end) {
  return end ? std::optional(end->owner) : std::nullopt;
}

}  // namespace

Effects::Effects(Writer& writer, Lives& lives)
    : lives_(lives),
      extend_(writer.database(), statement("effects_extend")),
      finish_(writer.database(), statement("effects_finish")),
      give_back_(writer.database(), statement("effects_give_back")),
      save_checkpoint_(writer.database(), statement("effects_save_checkpoint")),
      drop_checkpoint_(writer.database(), statement("effects_drop_checkpoint")),
      save_error_(writer.database(), statement("effects_save_error")) {}

Effect Effects::of(const Life& life, Event event, const EventFacts& facts) {
  // A heartbeat, a completion, a yield and a release need no more than the life.
  const bool needs_rules = event == Event::kAbort || event == Event::kExpire;
  const Rules rules = needs_rules ? lives_.rules_of(life) : Rules{};
  return effect_of({.state = life.state,
                    .tries = life.tries,
                    .max_attempts = rules.max_attempts,
                    .recurring = life.recurring,
                    .retry = rules.retry,
                    .progress = life.progress,
                    .lease = life.lease.value_or(kDefaultLease)},
                   event, facts);
}

void Effects::write(const Life& life, Event event, const Effect& effect, const Brought& brought, Change& change) {
  write_history(life, effect, brought, change);
  if (HORAE_MUTANT("timeout_after_yield") && event == Event::kYield) {
    lives_.note(life, HistoryKind::kTimeout, change.now(), std::nullopt, "");
  }
  if (effect.checkpoint == Effect::Checkpoint::kReplaced) save_checkpoint_.run(life.number, brought.checkpoint);
  if (effect.checkpoint == Effect::Checkpoint::kDropped) drop_checkpoint_.run_any(life.number);
  if (effect.state == State::kRunning) return extend(life, effect, change);
  effect.owner == Effect::Owner::kCleared ? give_back(life, effect, brought, change)
                                          : finish(life, effect, brought, change);
  const bool drifts = HORAE_MUTANT("counts_drift") && event == Event::kCancel;
  if (!drifts) change.moved(life.queue, life.state, effect.state);
}

void Effects::extend(const Life& life, const Effect& effect, Change& change) {
  extend_.run(effect.lease, change.after(*effect.lease), effect.progress, has_checkpoint(effect),
              effect.is_update ? std::optional(change.now()) : std::nullopt, life.number, life.state, life.attempt,
              life.owner);
}

void Effects::finish(const Life& life, const Effect& effect, const Brought& brought, Change& change) {
  const auto end = newest_end(life, effect);
  finish_.run(effect.state, effect.tries, effect.progress, has_checkpoint(effect), effect.replaces_result,
              brought.result, brought.cancel_reason, event_of(end), owner_of(end), change.now(), life.number,
              life.state, life.attempt, life.owner);
  std::vector<TaskError> errors;
  if (effect.errors == Effect::Errors::kBrought) errors = *brought.errors;
  if (effect.errors == Effect::Errors::kExhausted) errors = {attempts_exhausted()};
  for (std::size_t place = 0; place < errors.size(); ++place) {
    save_error_.run(life.number, place, errors[place].code, errors[place].args, errors[place].description);
  }
}

void Effects::give_back(const Life& life, const Effect& effect, const Brought& brought, Change& change) {
  const auto end = newest_end(life, effect);
  const bool keeps_rank = effect.rank == Effect::Rank::kStays;
  const auto due = effect.due_in ? std::optional(change.after(*effect.due_in)) : std::nullopt;
  give_back_.run(effect.state, due, keeps_rank, effect.tries, effect.progress, has_checkpoint(effect),
                 effect.replaces_result, brought.result, event_of(end), owner_of(end), change.now(), life.number,
                 life.state, life.attempt, life.owner);
}

void Effects::write_history(const Life& life, const Effect& effect, const Brought& brought, Change& change) {
  if (effect.removes_assignment) return lives_.forget_assignment(life);
  if (effect.history) {
    const std::string detail = effect.history->has_errors ? history_detail(to_json(*brought.errors)) : "";
    lives_.note(life, effect.history->kind, change.now(), effect.history->progress, detail);
  } else if (effect.owner == Effect::Owner::kCleared) {
    // The row of the task no longer has the assignment, and no entry of the end has it: a turn was completed.
    lives_.note(life, HistoryKind::kAssignment, *life.started_at, std::nullopt, "");
  }
}

}  // namespace horae::sqlite
