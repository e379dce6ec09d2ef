#include "observe/measured_tasks.h"

#include <algorithm>
#include <map>

namespace horae {

void MeasuredTasks::count(Event event, std::size_t tasks) {
  if (tasks > 0) meter_.metrics.count_tasks(to_string(event), tasks);
}

void MeasuredTasks::count_submitted(const std::vector<SubmitOutcome>& outcomes) {
  count(Event::kSubmit,
        static_cast<std::size_t>(std::ranges::count(outcomes, SubmitOutcome::Kind::kCreated, &SubmitOutcome::kind)));
}

void MeasuredTasks::count_leased(const std::vector<std::vector<LeasedTask>>& leased) {
  std::size_t tasks = 0;
  for (const auto& each : leased) tasks += each.size();
  count(Event::kClaim, tasks);
}

void MeasuredTasks::count_settled(std::span<const Settlement> settlements, const std::vector<SettleOutcome>& outcomes) {
  std::map<Event, std::size_t> accepted;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Verdict verdict = outcomes[i].verdict;
    if (verdict == Verdict::kAccepted) ++accepted[settlements[i].event];
    if (!is_success(verdict)) meter_.metrics.count_refused_settle(to_string(verdict));
  }
  for (const auto& [event, tasks] : accepted) count(event, tasks);
}

Result<std::vector<SubmitOutcome>> MeasuredTasks::submit(std::span<const Submission> submissions) {
  auto outcomes = meter_.measured("submit", submissions.size(), [&] { return store_.submit(submissions); });
  if (outcomes.ok()) count_submitted(*outcomes);
  return outcomes;
}

Result<std::vector<std::vector<LeasedTask>>> MeasuredTasks::claim(std::span<const ClaimWish> wishes) {
  auto granted = meter_.measured("claim", wishes.size(), [&] { return store_.claim(wishes); });
  if (granted.ok()) count_leased(*granted);
  return granted;
}

Result<std::vector<LeasedTask>> MeasuredTasks::leases_of(const Uuid& token) {
  return meter_.measured("leases_of", 1, [&] { return store_.leases_of(token); });
}

Result<std::vector<bool>> MeasuredTasks::have_served(std::span<const Uuid> tokens) {
  return meter_.measured("have_served", tokens.size(), [&] { return store_.have_served(tokens); });
}

Result<std::vector<SettleOutcome>> MeasuredTasks::settle(std::span<const Settlement> settlements) {
  auto outcomes = meter_.measured("settle", settlements.size(), [&] { return store_.settle(settlements); });
  if (outcomes.ok()) count_settled(settlements, *outcomes);
  return outcomes;
}

Result<BundleOutcome> MeasuredTasks::exchange(const Bundle& calls) {
  const std::size_t items = calls.settlements.size() + calls.submissions.size() + calls.wishes.size();
  auto outcome = meter_.measured("exchange", items, [&] { return store_.exchange(calls); });
  if (!outcome.ok()) return outcome;
  count_settled(calls.settlements, outcome->settled);
  count_submitted(outcome->submitted);
  count_leased(outcome->leased);
  return outcome;
}

Result<std::vector<CancelOutcome>> MeasuredTasks::cancel(std::span<const CancelWish> wishes) {
  auto outcomes = meter_.measured("cancel", wishes.size(), [&] { return store_.cancel(wishes); });
  if (outcomes.ok()) {
    count(Event::kCancel,
          static_cast<std::size_t>(std::ranges::count(*outcomes, Verdict::kAccepted, &CancelOutcome::verdict)));
  }
  return outcomes;
}

Result<PromoteOutcome> MeasuredTasks::promote_due(std::size_t max) {
  auto outcome = meter_.measured("promote_due", 0, [&] { return store_.promote_due(max); });
  if (outcome.ok()) count(Event::kPromote, outcome->promoted);
  return outcome;
}

Result<Watch> MeasuredTasks::look() {
  return meter_.measured("look", 0, [&] { return store_.look(); });
}

Result<bool> MeasuredTasks::extend_leases(const std::optional<Instant>& seen) {
  return meter_.measured("extend_leases", 0, [&] { return store_.extend_leases(seen); });
}

Result<ExpireOutcome> MeasuredTasks::expire_leases(const ExpireWish& wish) {
  auto outcome = meter_.measured("expire_leases", 0, [&] { return store_.expire_leases(wish); });
  if (outcome.ok()) count(Event::kExpire, outcome->expired.size());
  return outcome;
}

Result<PurgeOutcome> MeasuredTasks::purge(std::size_t max) {
  auto outcome = meter_.measured("purge", 0, [&] { return store_.purge(max); });
  if (outcome.ok()) count(Event::kPurge, outcome->purged);
  return outcome;
}

Result<std::vector<std::optional<Task>>> MeasuredTasks::get(std::span<const TaskId> ids) {
  return meter_.measured("get", ids.size(), [&] { return store_.get(ids); });
}

Result<std::optional<Task>> MeasuredTasks::find(std::string_view queue, std::string_view key) {
  return meter_.measured("find", 1, [&] { return store_.find(queue, key); });
}

Result<Page> MeasuredTasks::list(const ListQuery& query) {
  return meter_.measured("list", 0, [&] { return store_.list(query); });
}

}  // namespace horae
