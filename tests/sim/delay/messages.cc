#include "tests/sim/delay/messages.h"

#include "base/mutant.h"

namespace horae::sim {

Result<EnqueueOutcome> RecordedMessages::enqueue(const EnqueueWish& wish) {
  auto outcome = messages_.enqueue(wish);
  if (outcome.ok()) ledger_.enqueued(wish, *outcome);
  return outcome;
}

Readying RecordedMessages::present_of(const Readying& named) const {
  const auto row = ledger_.rows().find(named.id);
  return row != ledger_.rows().end() && row->second.readying ? *row->second.readying : named;
}

Result<TurnOutcome> RecordedMessages::turn(const TurnWish& wish) {
  TurnWish changed = wish;
  std::vector<Readying> fired(wish.fired.begin(), wish.fired.end());
  if (HORAE_MUTANT("remove_without_compare")) {
    for (Readying& each : fired) each = present_of(each);
    changed.fired = fired;
  }
  auto outcome = messages_.turn(changed);
  if (outcome.ok()) ledger_.turned(wish, *outcome);
  return outcome;
}

Result<StuckPage> RecordedMessages::stuck(const StuckWish& wish) {
  StuckWish changed = wish;
  if (HORAE_MUTANT("stuck_takes_recent")) changed.hold = wish.hold / 20;
  auto page = messages_.stuck(changed);
  if (!page.ok() || !HORAE_MUTANT("hold_from_readying_only")) return page;
  page->messages.clear();
  for (const auto& [id, row] : ledger_.rows()) {
    if (row.readying && world_.now() - row.readying->readied_at > wish.hold) page->messages.push_back(*row.readying);
  }
  return page;
}

Result<std::vector<bool>> RecordedMessages::reset(std::string_view queue, std::span<const Readying> stuck) {
  std::vector<Readying> changed(stuck.begin(), stuck.end());
  if (HORAE_MUTANT("reset_without_compare")) {
    for (Readying& each : changed) each = present_of(each);
  }
  auto done = messages_.reset(queue, changed);
  if (done.ok()) ledger_.reset(stuck, *done);
  return done;
}

Result<std::vector<Verdict>> RecordedMessages::cancel(std::string_view queue, std::span<const std::string> ids) {
  if (HORAE_MUTANT("cancel_of_ready_accepted")) {
    for (const std::string& id : ids) {
      const Readying present = present_of({.id = id, .readied_at = {}, .readied_by = {}});
      (void)messages_.reset(queue, std::span(&present, 1)).ok();
    }
  }
  auto verdicts = messages_.cancel(queue, ids);
  for (std::size_t i = 0; verdicts.ok() && i < ids.size(); ++i) ledger_.cancelled(ids[i], (*verdicts)[i]);
  return verdicts;
}

Result<std::vector<Verdict>> RecordedMessages::move(std::string_view queue, std::span<const MoveWish> wishes) {
  auto verdicts = messages_.move(queue, wishes);
  for (std::size_t i = 0; verdicts.ok() && i < wishes.size(); ++i) {
    const auto before = ledger_.rows().find(wishes[i].id);
    if ((*verdicts)[i] == Verdict::kAccepted && HORAE_MUTANT("move_keeps_old_due")) {
      const MoveWish back{.id = wishes[i].id, .deadline = before->second.due};
      (void)messages_.move(queue, std::span(&back, 1)).ok();
    }
    ledger_.moved(wishes[i], (*verdicts)[i]);
  }
  return verdicts;
}

}  // namespace horae::sim
