#include "model/effect.h"

#include "base/check.h"
#include "base/mutant.h"

namespace horae {
namespace {

// Tries after an abort that is retried.
int tries_after_abort(const TaskFacts& task) { return HORAE_MUTANT("aborts_cost_no_try") ? 1 : task.tries + 1; }

// The delay until the next try; nothing if this abort is final.
std::optional<Duration> delay_of_retry(const TaskFacts& task, const EventFacts& facts) {
  return retry_delay(task.retry, tries_after_abort(task), task.max_attempts, facts.chance);
}

bool is_exhausted(const TaskFacts& task) {
  return task.max_attempts > 0 && task.tries + 1 >= task.max_attempts && !HORAE_MUTANT("poison_never_ends");
}

void heartbeat(const TaskFacts& task, const EventFacts& facts, Effect& effect) {
  effect.lease = facts.lease.value_or(task.lease);
  effect.progress = facts.progress;
  if (facts.has_checkpoint) effect.checkpoint = Effect::Checkpoint::kReplaced;
  effect.is_update = facts.progress.has_value() || facts.has_checkpoint;  // a beat alone changes nothing to see
}

// The task waits for its next turn or try.
void schedule_again(Duration delay, Effect& effect) {
  effect.due_in = HORAE_MUTANT("turns_without_a_pause") ? Duration::zero() : delay;
  effect.rank = Effect::Rank::kCleared;
  effect.owner = Effect::Owner::kCleared;
  effect.progress = 0.0;
}

void complete(const TaskFacts& task, Condition condition, Effect& effect) {
  effect.replaces_result = true;
  if (condition == Condition::kNone) {
    effect.progress = 1.0;
    return;
  }
  schedule_again(*task.recurring, effect);
  effect.checkpoint = Effect::Checkpoint::kDropped;
  effect.tries = 0;
}

// An abort that is final counts no try and leaves the progress as it was.
void abort(const TaskFacts& task, const EventFacts& facts, Effect& effect) {
  const auto delay = delay_of_retry(task, facts);
  if (!delay) {
    effect.errors = Effect::Errors::kBrought;
    return;
  }
  schedule_again(*delay, effect);
  effect.tries = tries_after_abort(task);
  effect.history = {.kind = HistoryKind::kRetry, .has_errors = true};
}

// The task is ready again in its old place, and starts anew from its checkpoint.
void yield(const TaskFacts& task, const EventFacts& facts, Effect& effect) {
  effect.owner = Effect::Owner::kCleared;
  effect.progress = 0.0;
  if (facts.has_checkpoint) effect.checkpoint = Effect::Checkpoint::kReplaced;
  effect.history = {.kind = HistoryKind::kYield, .progress = facts.progress.value_or(task.progress)};
}

// The progress starts anew also where the task ends here. The owner of an attempt that ends a task stays visible.
void expire(const TaskFacts& task, Condition condition, Effect& effect) {
  effect.tries = task.tries + 1;
  effect.progress = 0.0;
  effect.history = {.kind = HistoryKind::kTimeout, .progress = task.progress};
  if (condition == Condition::kExhausted) {
    effect.errors = Effect::Errors::kExhausted;
  } else {
    effect.owner = Effect::Owner::kCleared;
  }
}

// What the mutants of judge() and of the stores let through is no bug of the caller.
bool may_happen(const TaskFacts& task, Event event) {
  return is_allowed(event, task.state) || HORAE_MUTANT("complete_over_cancel") ||
         HORAE_MUTANT("expire_without_compare");
}

bool ends_attempt(const TaskFacts& task, Event event) {
  switch (event) {
    case Event::kComplete:
    case Event::kAbort:
    case Event::kYield:
    case Event::kRelease:
    case Event::kExpire:
      return true;
    case Event::kCancel:
      return task.state == State::kRunning;
    default:
      return false;
  }
}

// Only a cancel and a purge begin in several states, and each ends in one.
std::optional<State> state_after(Event event, Condition condition) {
  for (const Transition& row : transitions()) {
    if (row.event == event && row.condition == condition) return row.to;
  }
  check_failed("condition", __FILE__, __LINE__, "each condition of an event has a row in the state table");
}

}  // namespace

Condition condition_of(const TaskFacts& task, Event event, const EventFacts& facts) {
  switch (event) {
    case Event::kSubmit:
      return facts.is_due_later ? Condition::kDueLater : Condition::kNone;
    case Event::kComplete:
      return task.recurring && !HORAE_MUTANT("recurrence_lost_on_crash") ? Condition::kRecurs : Condition::kNone;
    case Event::kAbort:
      return delay_of_retry(task, facts) ? Condition::kRetried : Condition::kNone;
    case Event::kExpire:
      return is_exhausted(task) ? Condition::kExhausted : Condition::kNone;
    default:
      return Condition::kNone;
  }
}

Effect effect_of(const TaskFacts& task, Event event, const EventFacts& facts) {
  HORAE_CHECK(may_happen(task, event), "the state table allows the event");
  const Condition condition = condition_of(task, event, facts);
  Effect effect{.state = state_after(event, condition), .tries = task.tries};
  if (ends_attempt(task, event)) effect.ended = event;
  switch (event) {
    case Event::kSubmit:
      effect.rank = condition == Condition::kDueLater ? Effect::Rank::kCleared : Effect::Rank::kNew;
      break;
    case Event::kPromote:
      effect.rank = Effect::Rank::kNew;
      break;
    case Event::kClaim:
      effect.owner = Effect::Owner::kNew;
      effect.lease = facts.lease;
      effect.history = {.kind = HistoryKind::kAssignment};
      break;
    case Event::kHeartbeat:
      heartbeat(task, facts, effect);
      break;
    case Event::kComplete:
      complete(task, condition, effect);
      break;
    case Event::kAbort:
      abort(task, facts, effect);
      break;
    case Event::kYield:
      yield(task, facts, effect);
      break;
    case Event::kRelease:
      effect.owner = Effect::Owner::kCleared;
      effect.removes_assignment = true;
      break;
    case Event::kExpire:
      expire(task, condition, effect);
      break;
    case Event::kCancel:
    case Event::kPurge:
      break;
  }
  return effect;
}

TaskError attempts_exhausted() {
  return {.code = "attempts_exhausted", .description = "the lease expired, and no attempt is left (max_attempts)"};
}

bool keeps_late_result(Verdict verdict, const Holding& task, Event event, int attempt) {
  const bool brings_result = event == Event::kComplete || event == Event::kAbort;
  const bool has_begun = attempt >= 1 && attempt <= task.attempt;
  return !is_success(verdict) && brings_result && has_begun && !HORAE_MUTANT("late_result_is_lost");
}

std::string late_result_detail(Event event, const std::vector<TaskError>& errors,
                               const std::optional<std::string>& result) {
  return history_detail(event == Event::kAbort ? to_json(errors) : result.value_or(""));
}

}  // namespace horae
