#include "stores/postgres/layout/effects.h"

namespace horae::postgres {

TaskFacts facts_of(const RunningRange& lease) {
  return {.state = State::kRunning,
          .tries = lease.life.tries,
          .max_attempts = lease.life.max_attempts.value_or(0),
          .recurring = lease.life.recurring,
          .lease = lease.length};
}

Life life_after(const Life& life, const Effect& effect, const std::string& owner) {
  Life after = life;
  after.tries = effect.tries;
  if (effect.ended) after.ended = AttemptEnd{*effect.ended, owner};
  return after;
}

FinishedRange finished_after(const RunningRange& lease, const Effect& effect, const std::vector<TaskError>& brought) {
  FinishedRange finished{.life = life_after(lease.life, effect, lease.owner),
                         .state = *effect.state,
                         .owner = lease.owner,
                         .started_at = lease.started_at};
  if (effect.errors == Effect::Errors::kBrought) finished.errors = texts_of(brought);
  if (effect.errors == Effect::Errors::kExhausted) finished.errors = texts_of({attempts_exhausted()});
  return finished;
}

void note_effect(Trail& trail, std::int64_t number, const RunningRange& lease, const Effect& effect,
                 const std::vector<TaskError>& brought) {
  const int attempt = lease.life.attempt;
  if (effect.removes_assignment) return trail.forget_assignment(number, attempt);
  if (effect.history) {
    trail.note_end(number, attempt, lease.owner, lease.started_at, effect.history->kind, effect.history->progress,
                   effect.history->has_errors ? history_detail(to_json(brought)) : "");
  } else if (effect.owner == Effect::Owner::kCleared) {
    // The running range has the assignment no more, and no entry of the end has it: a turn was completed.
    trail.note_assignment(number, attempt, lease.owner, lease.started_at);
  }
}

}  // namespace horae::postgres
