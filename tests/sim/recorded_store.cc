#include "tests/sim/recorded_store.h"

#include <fmt/format.h>

#include <charconv>

#include "base/duration.h"

namespace horae::sim {
namespace {

constexpr std::string_view kSpecHead = R"({"intent":)";

}  // namespace

std::string spec_of_intent(std::int64_t intent, std::string_view run, Duration length) {
  return fmt::format(R"({}{},"run":"{}","for":"{}"}})", kSpecHead, intent, run, format_duration(length));
}

std::int64_t intent_of_spec(std::string_view spec) {
  std::int64_t intent = 0;
  if (spec.starts_with(kSpecHead)) std::from_chars(spec.data() + kSpecHead.size(), spec.data() + spec.size(), intent);
  return intent;
}

Result<std::vector<SubmitOutcome>> RecordedTasks::submit(std::span<const Submission> submissions) {
  auto outcomes = tasks_.submit(submissions);
  if (!outcomes.ok()) return outcomes;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const SubmitOutcome& outcome = (*outcomes)[i];
    if (outcome.kind != SubmitOutcome::Kind::kCreated) continue;
    const Submission& wish = submissions[i];
    Submitted stored{.task = outcome.id,
                     .number = outcome.number,
                     .intent = intent_of_spec(wish.task.spec),
                     .wish = wish.task,
                     .state = outcome.state};
    if (wish.start) {
      stored.owner = wish.start->owner;
      stored.lease = wish.start->lease;
    }
    world_.record(std::move(stored), node_);
  }
  return outcomes;
}

Result<std::vector<ClaimOutcome>> RecordedTasks::claim(std::span<const ClaimWish> wishes) {
  auto granted = tasks_.claim(wishes);
  if (!granted.ok()) return granted;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const ClaimWish& wish = wishes[i];
    bool is_served = false;
    for (const LeasedTask& task : (*granted)[i].tasks) {
      const bool is_new = !wish.once || world_.given_once.emplace(task.id, task.attempt).second;
      is_served = is_served || is_new;
      if (is_new) world_.record(Claimed{task.id, task.attempt, wish.owner, wish.lease, task.lease_expires}, node_);
      if (!is_new) world_.record(GrantedAgain{task.id, task.attempt, wish.owner}, node_);
    }
    if (wish.once && is_served) world_.record(TokenServed{wish.token}, node_);
  }
  return granted;
}

Result<std::vector<SettleOutcome>> RecordedTasks::settle(std::span<const Settlement> settlements) {
  auto outcomes = tasks_.settle(settlements);
  if (!outcomes.ok()) return outcomes;
  for (std::size_t i = 0; i < settlements.size(); ++i) {
    const Settlement& said = settlements[i];
    world_.record(Settled{.event = said.event,
                          .task = said.id,
                          .attempt = said.attempt,
                          .owner = said.owner,
                          .lease = said.lease,
                          .chance = said.chance,
                          .verdict = (*outcomes)[i].verdict,
                          .state = (*outcomes)[i].state},
                  node_);
  }
  return outcomes;
}

Result<std::vector<CancelOutcome>> RecordedTasks::cancel(std::span<const CancelWish> wishes) {
  auto outcomes = tasks_.cancel(wishes);
  if (!outcomes.ok()) return outcomes;
  for (std::size_t i = 0; i < wishes.size(); ++i) world_.record(Cancelled{wishes[i].id, (*outcomes)[i].verdict}, node_);
  return outcomes;
}

Result<PromoteOutcome> RecordedTasks::promote_due(std::size_t max) {
  auto outcome = tasks_.promote_due(max);
  // Most passes find nothing; those are not recorded.
  const bool is_empty = outcome.ok() && outcome->promoted == 0 && outcome->next_in != Duration::zero();
  if (outcome.ok() && !is_empty) world_.record(Promoted{outcome->promoted, max}, node_);
  return outcome;
}

Result<bool> RecordedTasks::extend_leases(const std::optional<Instant>& seen) {
  auto extended = tasks_.extend_leases(seen);
  if (extended.ok() && *extended) world_.record(Extended{}, node_);
  return extended;
}

Result<ExpireOutcome> RecordedTasks::expire_leases(const ExpireWish& wish) {
  auto outcome = tasks_.expire_leases(wish);
  if (!outcome.ok()) return outcome;
  if (outcome->extended) world_.record(Extended{wish.seen, wish.slack}, node_);
  for (const ExpiredLease& each : outcome->expired) {
    world_.record(Expired{each.id, each.attempt, each.owner, each.state}, node_);
  }
  return outcome;
}

Result<PurgeOutcome> RecordedTasks::purge(std::size_t max) {
  auto outcome = tasks_.purge(max);
  if (outcome.ok() && outcome->purged > 0) world_.record(Purged{outcome->purged}, node_);
  return outcome;
}

Result<QueueSettings> RecordedQueues::configure(std::string_view queue, const QueueChange& change) {
  auto settings = queues_.configure(queue, change);
  if (settings.ok()) world_.record(QueueSet{std::string(queue), *settings}, node_);
  return settings;
}

Result<bool> RecordedQueues::set_scheduler_running(bool running) {
  auto changed = queues_.set_scheduler_running(running);
  if (changed.ok()) world_.record(SchedulerSet{running}, node_);
  return changed;
}

}  // namespace horae::sim
