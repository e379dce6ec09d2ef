#include "stores/sqlite/settle.h"

#include "base/mutant.h"

namespace horae::sqlite {
namespace {

EventFacts facts_of(const Settlement& settlement) {
  return {.lease = settlement.lease,
          .progress = settlement.progress,
          .has_checkpoint = settlement.checkpoint.has_value(),
          .chance = settlement.chance};
}

Brought brought_by(const Settlement& settlement) {
  return {.checkpoint = settlement.checkpoint, .result = settlement.result, .errors = &settlement.errors};
}

}  // namespace

std::vector<SettleOutcome> Settler::settle(std::span<const Settlement> settlements, Change& change) {
  std::vector<SettleOutcome> outcomes;
  outcomes.reserve(settlements.size());
  LateResultsByTask late;
  for (const Settlement& settlement : settlements) outcomes.push_back(settle_one(settlement, change, late));
  lives_.note_late_results(late, change.now());
  return outcomes;
}

// What is refused is kept at the end of the batch, all of one task together, or before an accepted event of the task
// changes its history.
SettleOutcome Settler::settle_one(const Settlement& settlement, Change& change, LateResultsByTask& late) {
  const auto life = lives_.find(settlement.id, settlement.scope);
  const Verdict verdict = judge(life ? std::optional(life->holding()) : std::nullopt, settlement.event,
                                settlement.attempt, settlement.owner);
  if (!life) return {.verdict = verdict};

  SettleOutcome outcome{verdict, life->state, life->attempt, life->newest_owner(), life->lease_expires};
  if (verdict == Verdict::kAccepted) {
    keep(late, life->number, change);
    const Effect effect = effects_.of(*life, settlement.event, facts_of(settlement));
    effects_.write(*life, settlement.event, effect, brought_by(settlement), change);
    outcome.state = effect.state;
    outcome.lease_expires = effect.lease ? std::optional(change.after(*effect.lease)) : std::nullopt;
  } else if (keeps_late_result(verdict, life->holding(), settlement.event, settlement.attempt)) {
    LateResults& of_task = late[life->number];
    of_task.life = *life;
    of_task.results.push_back({settlement.attempt, settlement.owner,
                               late_result_detail(settlement.event, settlement.errors, settlement.result)});
  }
  return outcome;
}

void Settler::keep(LateResultsByTask& late, std::int64_t number, const Change& change) {
  LateResultsByTask of_task;
  of_task.insert(late.extract(number));
  lives_.note_late_results(of_task, change.now());
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
  if (HORAE_MUTANT("cancel_spares_the_running") && life->state == State::kRunning)
    return {Verdict::kAccepted, life->state};
  const Effect effect = effects_.of(*life, Event::kCancel, {});
  effects_.write(*life, Event::kCancel, effect, {.cancel_reason = wish.reason}, change);
  const bool was_running = life->state == State::kRunning;
  return {Verdict::kAccepted, effect.state, was_running ? life->owner : std::nullopt};
}

}  // namespace horae::sqlite
