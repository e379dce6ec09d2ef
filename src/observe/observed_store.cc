#include "observe/observed_store.h"

#include <array>

namespace horae {
namespace {

using Kind = Change::Kind;

void report(ChangeObserver& observer, const Change& change) { observer.on_changes(std::span(&change, 1)); }

}  // namespace

// ---- Queues ----

ObservedQueues::ObservedQueues(QueueStore& store, Meter& meter, const Clock& clock, ChangeObserver& observer)
    : store_(store),
      observer_(observer),
      queues_(meter, clock, "queues"),
      configure_(meter, clock, "configure"),
      remove_(meter, clock, "remove_queue"),
      set_scheduler_running_(meter, clock, "set_scheduler_running"),
      scheduler_running_(meter, clock, "scheduler_running"),
      closed_(meter, clock, "closed"),
      new_worker_id_(meter, clock, "new_worker_id") {}

Result<QueueList> ObservedQueues::queues() {
  return queues_.measured([&] { return store_.queues(); });
}

Result<QueueSettings> ObservedQueues::configure(std::string_view queue, const QueueChange& change) {
  auto settings = configure_.measured([&] { return store_.configure(queue, change); });
  if (!settings.ok()) return settings;
  const bool is_open = !settings->paused;
  const std::array<Change, 2> changes = {{{.kind = Kind::kQueue, .queue = queue, .is_open = is_open},
                                          {.kind = Kind::kClaims, .queue = queue, .is_open = is_open}}};
  observer_.on_changes(std::span(changes).first(change.paused ? 2 : 1));
  return settings;
}

// Nothing that waits or runs goes with a queue, so no observer has to know.
Result<QueueRemoval> ObservedQueues::remove(std::string_view queue, std::size_t max) {
  return remove_.measured([&] { return store_.remove(queue, max); });
}

Result<bool> ObservedQueues::set_scheduler_running(bool running) {
  auto is_change = set_scheduler_running_.measured([&] { return store_.set_scheduler_running(running); });
  if (is_change.ok() && *is_change) report(observer_, {.kind = Kind::kClaims, .is_open = running});
  return is_change;
}

Result<bool> ObservedQueues::scheduler_running() {
  return scheduler_running_.measured([&] { return store_.scheduler_running(); });
}

Result<std::vector<std::string>> ObservedQueues::closed(std::span<const std::string> queues) {
  return closed_.measured(queues.size(), [&] { return store_.closed(queues); });
}

Result<std::string> ObservedQueues::new_worker_id() {
  return new_worker_id_.measured([&] { return store_.new_worker_id(); });
}

// ---- Schedules ----

ObservedSchedules::ObservedSchedules(ScheduleStore& store, Meter& meter, const Clock& clock, ChangeObserver& observer)
    : store_(store),
      observer_(observer),
      put_(meter, clock, "put_schedule"),
      remove_(meter, clock, "remove_schedule"),
      get_(meter, clock, "get_schedule"),
      list_(meter, clock, "list_schedules"),
      due_(meter, clock, "due_schedules"),
      step_(meter, clock, "step_schedules"),
      recompute_(meter, clock, "recompute_schedules"),
      fires_(meter, clock, "fires"),
      forget_fires_(meter, clock, "forget_fires") {}

Result<PutOutcome> ObservedSchedules::put(const NewSchedule& schedule, const Uuid& version,
                                          const std::optional<Uuid>& expected) {
  auto outcome = put_.measured([&] { return store_.put(schedule, version, expected); });
  const auto writes = [](PutOutcome::Kind kind) {
    return kind == PutOutcome::Kind::kCreated || kind == PutOutcome::Kind::kChanged;
  };
  if (outcome.ok() && writes(outcome->kind)) report(observer_, {.kind = Kind::kSchedules});
  return outcome;
}

Result<bool> ObservedSchedules::remove(std::string_view name, const std::optional<Uuid>& expected) {
  return remove_.measured([&] { return store_.remove(name, expected); });
}

Result<std::optional<Schedule>> ObservedSchedules::get(std::string_view name) {
  return get_.measured([&] { return store_.get(name); });
}

Result<std::vector<Schedule>> ObservedSchedules::list(std::string_view after, std::size_t limit) {
  return list_.measured([&] { return store_.list(after, limit); });
}

Result<DueSchedules> ObservedSchedules::due(std::size_t max) {
  return due_.measured([&] { return store_.due(max); });
}

Result<std::vector<StepOutcome>> ObservedSchedules::step(std::span<const ScheduleStep> steps) {
  auto outcomes = step_.measured(steps.size(), [&] { return store_.step(steps); });
  if (!outcomes.ok()) return outcomes;
  std::vector<Change> changes;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepOutcome& outcome = (*outcomes)[i];
    if (outcome.cancelled) {
      changes.push_back({.event = Event::kCancel, .task = *outcome.cancelled, .state = State::kCancelled});
    }
    for (const SubmitOutcome& task : outcome.tasks) {
      changes.push_back({.task = task.id, .queue = steps[i].fires.front().submission.task.queue, .state = task.state});
    }
  }
  if (!changes.empty()) observer_.on_changes(changes);
  return outcomes;
}

Result<std::size_t> ObservedSchedules::recompute(std::string_view tzdata) {
  return recompute_.measured([&] { return store_.recompute(tzdata); });
}

Result<std::vector<FireRecord>> ObservedSchedules::fires(std::string_view name, Instant before, std::size_t limit) {
  return fires_.measured([&] { return store_.fires(name, before, limit); });
}

Result<std::size_t> ObservedSchedules::forget_fires(std::size_t max) {
  return forget_fires_.measured([&] { return store_.forget_fires(max); });
}

// ---- Tokens ----

ObservedTokens::ObservedTokens(TokenStore& store, Meter& meter, const Clock& clock, ChangeObserver& observer)
    : store_(store),
      observer_(observer),
      create_(meter, clock, "create_token"),
      revoke_(meter, clock, "revoke_token"),
      tokens_(meter, clock, "tokens") {}

Result<Token> ObservedTokens::create(const Token& token) {
  auto created = create_.measured([&] { return store_.create(token); });
  if (created.ok()) report(observer_, {.kind = Kind::kTokens});
  return created;
}

Result<bool> ObservedTokens::revoke(std::string_view id) {
  auto revoked = revoke_.measured([&] { return store_.revoke(id); });
  if (revoked.ok() && *revoked) report(observer_, {.kind = Kind::kTokens});
  return revoked;
}

Result<TokenList> ObservedTokens::tokens() {
  return tokens_.measured([&] { return store_.tokens(); });
}

// ---- Cluster ----

ObservedCluster::ObservedCluster(ClusterStore& store, Meter& meter, const Clock& clock)
    : store_(store),
      tick_(meter, clock, "tick"),
      nodes_(meter, clock, "nodes"),
      leave_(meter, clock, "leave"),
      last_awaited_(meter, clock, "last_awaited"),
      ahead_(meter, clock, "ahead") {}

Result<Tick> ObservedCluster::tick(const TickWish& wish) {
  return tick_.measured([&] { return store_.tick(wish); });
}

Result<std::vector<NodeRecord>> ObservedCluster::nodes() {
  return nodes_.measured([&] { return store_.nodes(); });
}

Result<void> ObservedCluster::leave(std::string_view node) {
  return leave_.measured([&] { return store_.leave(node); });
}

Result<std::optional<Instant>> ObservedCluster::last_awaited(std::string_view queue) {
  return last_awaited_.measured([&] { return store_.last_awaited(queue); });
}

Result<std::optional<std::size_t>> ObservedCluster::ahead(const TaskId& id, std::size_t most) {
  return ahead_.measured([&] { return store_.ahead(id, most); });
}

}  // namespace horae
