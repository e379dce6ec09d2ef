#include "observe/observed_tasks.h"

#include <algorithm>

namespace horae {
namespace {

constexpr Figure kRefused = {"horae_settles_refused_total", "Settlements that were refused, by verdict"};

}  // namespace

ObservedTasks::ObservedTasks(TaskStore& store, Meter& meter, const Clock& clock, ChangeObserver& observer)
    : store_(store),
      meter_(meter),
      observer_(observer),
      writes_(clock),
      submit_(meter, clock, "submit"),
      claim_(meter, clock, "claim"),
      leases_of_(meter, clock, "leases_of"),
      have_served_(meter, clock, "have_served"),
      settle_(meter, clock, "settle"),
      exchange_(meter, clock, "exchange"),
      cancel_(meter, clock, "cancel"),
      promote_due_(meter, clock, "promote_due"),
      look_(meter, clock, "look"),
      extend_leases_(meter, clock, "extend_leases"),
      expire_leases_(meter, clock, "expire_leases"),
      purge_(meter, clock, "purge"),
      get_(meter, clock, "get"),
      find_(meter, clock, "find"),
      list_(meter, clock, "list") {}

void ObservedTasks::report(const Changes& changes) {
  if (!changes.empty()) observer_.on_changes(changes);
}

template <typename T>
bool ObservedTasks::has_failed(const Result<T>& result) {
  if (!result.ok()) writes_.note_failed(result.error());
  return !result.ok();
}

void ObservedTasks::note_submitted(const std::vector<SubmitOutcome>& outcomes) {
  const auto is_created = [](const SubmitOutcome& outcome) { return outcome.kind == SubmitOutcome::Kind::kCreated; };
  if (std::ranges::any_of(outcomes, is_created)) writes_.note_stored();
}

void ObservedTasks::count_refused(const std::vector<SettleOutcome>& outcomes) {
  for (const SettleOutcome& outcome : outcomes) {
    if (is_success(outcome.verdict)) continue;
    meter_.counter(kRefused, {{"verdict", to_string(outcome.verdict)}}).add();
  }
}

Result<std::vector<SubmitOutcome>> ObservedTasks::submit(std::span<const Submission> submissions) {
  auto outcomes = submit_.measured(submissions.size(), [&] { return store_.submit(submissions); });
  if (has_failed(outcomes)) return outcomes;
  note_submitted(*outcomes);
  Changes changes;
  add_submitted(changes, submissions, *outcomes);
  report(changes);
  return outcomes;
}

Result<std::vector<ClaimOutcome>> ObservedTasks::claim(std::span<const ClaimWish> wishes) {
  auto leased = claim_.measured(wishes.size(), [&] { return store_.claim(wishes); });
  if (has_failed(leased)) return leased;
  Changes changes;
  add_claimed(changes, *leased);
  report(changes);
  return leased;
}

Result<std::vector<LeasedTask>> ObservedTasks::leases_of(const Uuid& token) {
  return leases_of_.measured(1, [&] { return store_.leases_of(token); });
}

Result<std::vector<bool>> ObservedTasks::have_served(std::span<const Uuid> tokens) {
  return have_served_.measured(tokens.size(), [&] { return store_.have_served(tokens); });
}

Result<std::vector<SettleOutcome>> ObservedTasks::settle(std::span<const Settlement> settlements) {
  auto outcomes = settle_.measured(settlements.size(), [&] { return store_.settle(settlements); });
  if (has_failed(outcomes)) return outcomes;
  Changes changes;
  add_settled(changes, settlements, *outcomes);
  report(changes);
  count_refused(*outcomes);
  return outcomes;
}

Result<BundleOutcome> ObservedTasks::exchange(const Bundle& calls) {
  const std::size_t items = calls.settlements.size() + calls.submissions.size() + calls.wishes.size();
  auto outcome = exchange_.measured(items, [&] { return store_.exchange(calls); });
  if (has_failed(outcome)) return outcome;
  note_submitted(outcome->submitted);
  Changes changes;
  add_settled(changes, calls.settlements, outcome->settled);
  add_submitted(changes, calls.submissions, outcome->submitted);
  add_claimed(changes, outcome->leased);
  report(changes);
  count_refused(outcome->settled);
  return outcome;
}

Result<std::vector<CancelOutcome>> ObservedTasks::cancel(std::span<const CancelWish> wishes) {
  auto outcomes = cancel_.measured(wishes.size(), [&] { return store_.cancel(wishes); });
  if (has_failed(outcomes)) return outcomes;
  Changes changes;
  add_cancelled(changes, wishes, *outcomes);
  report(changes);
  return outcomes;
}

Result<PromoteOutcome> ObservedTasks::promote_due(std::size_t max) {
  auto outcome = promote_due_.measured([&] { return store_.promote_due(max); });
  if (!outcome.ok()) return outcome;
  Changes changes;
  add_promoted(changes, *outcome);
  report(changes);
  return outcome;
}

Result<Watch> ObservedTasks::look() {
  return look_.measured([&] { return store_.look(); });
}

Result<bool> ObservedTasks::extend_leases(const std::optional<Instant>& seen) {
  return extend_leases_.measured([&] { return store_.extend_leases(seen); });
}

Result<ExpireOutcome> ObservedTasks::expire_leases(const ExpireWish& wish) {
  auto outcome = expire_leases_.measured([&] { return store_.expire_leases(wish); });
  if (!outcome.ok()) return outcome;
  Changes changes;
  add_expired(changes, *outcome);
  report(changes);
  return outcome;
}

Result<PurgeOutcome> ObservedTasks::purge(std::size_t max) {
  auto outcome = purge_.measured([&] { return store_.purge(max); });
  if (!outcome.ok()) return outcome;
  Changes changes;
  add_purged(changes, *outcome);
  report(changes);
  return outcome;
}

Result<std::vector<std::optional<Task>>> ObservedTasks::get(std::span<const TaskId> ids) {
  return get_.measured(ids.size(), [&] { return store_.get(ids); });
}

Result<std::optional<Task>> ObservedTasks::find(std::string_view queue, std::string_view key) {
  return find_.measured(1, [&] { return store_.find(queue, key); });
}

Result<Page> ObservedTasks::list(const ListQuery& query) {
  return list_.measured([&] { return store_.list(query); });
}

}  // namespace horae
