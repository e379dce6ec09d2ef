// The model store: what owners say about their attempts, and cancel.

#include <algorithm>

#include "tests/store_contract/model_store.h"

namespace horae::testing {
namespace {

Holding holding_of(const ModelTask& held) {
  return {.state = held.task.state,
          .attempt = held.task.attempt,
          .owner = held.task.owner.value_or(""),
          .ended = held.ended};
}

void append(Model& model, ModelTask& held, HistoryKind kind, std::optional<double> progress, std::string detail) {
  held.log.push_back({.kind = kind,
                      .worker = *held.task.owner,
                      .time = model.now(),
                      .attempt = held.task.attempt,
                      .progress = progress,
                      .detail = std::move(detail)});
}

void take_progress(ModelTask& held, const Settlement& said) {
  if (said.progress) held.task.progress = *said.progress;
  if (said.checkpoint) held.task.checkpoint = said.checkpoint;
}

void heartbeat(Model& model, ModelTask& held, const Settlement& said) {
  const Instant updated = held.task.updated_at;
  model.move(held, Event::kHeartbeat);
  if (!said.progress && !said.checkpoint) held.task.updated_at = updated;  // a beat alone changes nothing to see
  held.lease = said.lease.value_or(held.lease);
  held.task.lease_expires = after(model.now(), held.lease);
  take_progress(held, said);
}

// Reading: a completion without a result leaves none, also where the turn before had brought one. The checkpoint of a
// task that ends stays visible.
void complete(Model& model, ModelTask& held, const Settlement& said) {
  Task& task = held.task;
  model.move(held, Event::kComplete, task.recurring ? Condition::kRecurs : Condition::kNone);
  task.result = said.result;
  task.progress = 1.0;
  if (!task.recurring) return;
  task.run_at = after(model.now(), *task.recurring);
  task.progress = 0.0;
  task.checkpoint.reset();
  task.tries = 0;
}

// Reading: an abort that is not retried counts no try and leaves the progress as it was.
void abort(Model& model, ModelTask& held, const Settlement& said) {
  Task& task = held.task;
  const auto delay = retry_delay(task.retry, task.tries + 1, task.max_attempts, said.chance);
  model.move(held, Event::kAbort, delay ? Condition::kRetried : Condition::kNone);
  if (!delay) {
    task.errors = said.errors;
    return;
  }
  ++task.tries;
  task.run_at = after(model.now(), *delay);
  task.progress = 0.0;
  append(model, held, HistoryKind::kRetry, std::nullopt, history_detail(to_json(said.errors)));
}

void yield(Model& model, ModelTask& held, const Settlement& said) {
  model.move(held, Event::kYield);
  take_progress(held, said);
  append(model, held, HistoryKind::kYield, held.task.progress, "");
  held.task.progress = 0.0;
}

void release(Model& model, ModelTask& held) {
  model.move(held, Event::kRelease);
  std::erase_if(held.log, [&](const HistoryEntry& entry) {
    return entry.kind == HistoryKind::kAssignment && entry.attempt == held.task.attempt;
  });
}

void apply(Model& model, ModelTask& held, const Settlement& said) {
  if (said.event == Event::kHeartbeat) return heartbeat(model, held, said);
  if (said.event == Event::kComplete) complete(model, held, said);
  if (said.event == Event::kAbort) abort(model, held, said);
  if (said.event == Event::kYield) yield(model, held, said);
  if (said.event == Event::kRelease) release(model, held);
  held.ended = AttemptEnd{said.event, said.owner};
}

// Reading: the detail is the result, the errors as JSON, or empty for a completion that brought no result.
void keep_late_result(Model& model, ModelTask& held, const Settlement& said) {
  if (said.event != Event::kComplete && said.event != Event::kAbort) return;
  if (said.attempt < 1 || said.attempt > held.task.attempt) return;
  const bool kept_before = std::ranges::any_of(held.log, [&](const HistoryEntry& entry) {
    return entry.kind == HistoryKind::kLateResult && entry.attempt == said.attempt && entry.worker == said.owner;
  });
  if (kept_before) return;
  const std::string brought = said.event == Event::kAbort ? to_json(said.errors) : said.result.value_or("");
  held.log.push_back({.kind = HistoryKind::kLateResult,
                      .worker = said.owner,
                      .time = model.now(),
                      .attempt = said.attempt,
                      .detail = history_detail(brought)});
}

ModelTask* find_in_scope(Model& model, const TaskId& id, const Scope& scope) {
  ModelTask* held = model.find_task(id);
  return held && allows(scope, held->task.queue) ? held : nullptr;
}

// Reading: `owner` is that of the newest attempt also after it has ended.
SettleOutcome settle_one(Model& model, const Settlement& said) {
  ModelTask* held = find_in_scope(model, said.id, said.scope);
  if (!held) return {.verdict = judge(std::nullopt, said.event, said.attempt, said.owner)};
  const Verdict verdict = judge(holding_of(*held), said.event, said.attempt, said.owner);
  if (verdict == Verdict::kAccepted) apply(model, *held, said);
  if (!is_success(verdict)) keep_late_result(model, *held, said);
  return {.verdict = verdict,
          .state = held->task.state,
          .attempt = held->task.attempt,
          .owner = held->task.owner,
          .lease_expires = view_without_history(*held).lease_expires};
}

}  // namespace

CancelOutcome cancel_one(Model& model, const CancelWish& wish) {
  ModelTask* held = find_in_scope(model, wish.id, wish.scope);
  if (!held) return {.verdict = Verdict::kNotFound};
  const State state = held->task.state;
  if (state == State::kCancelled) return {.verdict = Verdict::kRepeated, .state = state};
  if (!is_allowed(Event::kCancel, state)) return {.verdict = Verdict::kWrongState, .state = state};
  // The attempt ends here, and the end of the one before is forgotten: see Holding::ended.
  std::optional<std::string> owner;
  if (state == State::kRunning) {
    owner = held->task.owner;
    held->ended = AttemptEnd{Event::kCancel, *owner};
  }
  model.move(*held, Event::kCancel);
  held->task.cancel_reason = wish.reason;
  return {.verdict = Verdict::kAccepted, .state = held->task.state, .owner = owner};
}

Result<std::vector<SettleOutcome>> ModelTaskStore::settle(std::span<const Settlement> settlements) {
  if (auto checked = check_all(settlements, check_settlement); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  std::vector<SettleOutcome> outcomes;
  for (const Settlement& said : settlements) outcomes.push_back(settle_one(model_, said));
  return outcomes;
}

Result<std::vector<CancelOutcome>> ModelTaskStore::cancel(std::span<const CancelWish> wishes) {
  if (auto checked = check_all(wishes, check_cancel_wish); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  std::vector<CancelOutcome> outcomes;
  for (const CancelWish& wish : wishes) outcomes.push_back(cancel_one(model_, wish));
  return outcomes;
}

}  // namespace horae::testing
