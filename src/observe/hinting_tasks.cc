#include "observe/hinting_tasks.h"

namespace horae {

namespace {

void add_submitted(std::span<const Submission> submissions, const std::vector<SubmitOutcome>& outcomes,
                   std::vector<Hint>& hints) {
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const SubmitOutcome& outcome = outcomes[i];
    if (outcome.kind != SubmitOutcome::Kind::kCreated) continue;
    hints.push_back({.task = outcome.id, .state = outcome.state, .queue = submissions[i].task.queue});
  }
}

void add_leased(const std::vector<std::vector<LeasedTask>>& leased, std::vector<Hint>& hints) {
  for (const std::vector<LeasedTask>& tasks : leased) {
    for (const LeasedTask& task : tasks) {
      hints.push_back({.task = task.id, .state = State::kRunning, .queue = task.queue});
    }
  }
}

// A heartbeat changes no state, but may bring progress, which onlookers want to see.
void add_settled(std::span<const Settlement> settlements, const std::vector<SettleOutcome>& outcomes,
                 std::vector<Hint>& hints) {
  for (std::size_t i = 0; i < settlements.size(); ++i) {
    const SettleOutcome& outcome = outcomes[i];
    const Settlement& said = settlements[i];
    const bool is_news = said.event != Event::kHeartbeat || said.progress;
    if (outcome.verdict != Verdict::kAccepted || !outcome.state || !is_news) continue;
    hints.push_back({.task = said.id, .state = *outcome.state});
  }
}

}  // namespace

Result<std::vector<SubmitOutcome>> HintingTasks::submit(std::span<const Submission> submissions) {
  auto outcomes = store_.submit(submissions);
  if (!outcomes.ok()) return outcomes;
  std::vector<Hint> hints;
  add_submitted(submissions, *outcomes, hints);
  tell_(hints);
  return outcomes;
}

Result<std::vector<std::vector<LeasedTask>>> HintingTasks::claim(std::span<const ClaimWish> wishes) {
  auto leased = store_.claim(wishes);
  if (!leased.ok()) return leased;
  std::vector<Hint> hints;
  add_leased(*leased, hints);
  tell_(hints);
  return leased;
}

Result<std::vector<SettleOutcome>> HintingTasks::settle(std::span<const Settlement> settlements) {
  auto outcomes = store_.settle(settlements);
  if (!outcomes.ok()) return outcomes;
  std::vector<Hint> hints;
  add_settled(settlements, *outcomes, hints);
  tell_(hints);
  return outcomes;
}

// In the order in which it happened.
Result<BundleOutcome> HintingTasks::exchange(const Bundle& calls) {
  auto outcome = store_.exchange(calls);
  if (!outcome.ok()) return outcome;
  std::vector<Hint> hints;
  add_settled(calls.settlements, outcome->settled, hints);
  add_submitted(calls.submissions, outcome->submitted, hints);
  add_leased(outcome->leased, hints);
  tell_(hints);
  return outcome;
}

Result<std::vector<CancelOutcome>> HintingTasks::cancel(std::span<const CancelWish> wishes) {
  auto outcomes = store_.cancel(wishes);
  if (!outcomes.ok()) return outcomes;
  std::vector<Hint> hints;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if ((*outcomes)[i].verdict != Verdict::kAccepted) continue;
    hints.push_back({.task = wishes[i].id, .state = State::kCancelled});
  }
  tell_(hints);
  return outcomes;
}

Result<ExpireOutcome> HintingTasks::expire_leases(const ExpireWish& wish) {
  auto outcome = store_.expire_leases(wish);
  if (!outcome.ok()) return outcome;
  std::vector<Hint> hints;
  for (const ExpiredLease& each : outcome->expired) {
    hints.push_back({.task = each.id, .state = each.state, .queue = each.queue});
  }
  tell_(hints);
  return outcome;
}

}  // namespace horae
