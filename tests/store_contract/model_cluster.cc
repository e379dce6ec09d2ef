// The model store: nodes and their ticks.

#include <algorithm>
#include <set>
#include <tuple>

#include "tests/store_contract/model_store.h"

namespace horae::testing {
namespace {

void note(Model& model, const TickWish& wish) {
  ModelNode& node = model.nodes[wish.self.id];
  const Instant started_at = node.record.id.empty() ? model.now() : node.record.started_at;
  node = {.record = wish.self, .wants_events = wish.wants_events};
  node.record.started_at = started_at;
  node.record.last_seen = model.now();
  for (const std::string& queue : wish.awaited) model.awaited[queue] = model.now();
}

void forget(Model& model) {
  const auto is_old = [&](Instant seen) { return between(seen, model.now()) > kNodeIsForgottenAfter; };
  std::erase_if(model.nodes, [&](const auto& each) { return is_old(each.second.record.last_seen); });
  std::erase_if(model.awaited,
                [&](const auto& each) { return is_old(each.second) && !model.queues.contains(each.first); });
}

bool has_ready(const Model& model, const std::string& queue) {
  return std::ranges::any_of(model.tasks, [&](const auto& each) {
    return each.second.task.queue == queue && each.second.task.state == State::kReady;
  });
}

bool is_open(const Model& model, const std::string& queue) {
  const auto found = model.queues.find(queue);
  return model.scheduler_running && found != model.queues.end() && !found->second.settings.paused;
}

}  // namespace

Result<Tick> ModelClusterStore::tick(const TickWish& wish) {
  const std::lock_guard lock(model_.mutex);
  note(model_, wish);
  forget(model_);
  Tick tick{.now = model_.now(), .token_version = model_.token_version};
  for (const auto& [id, node] : model_.nodes) {
    if (id == wish.self.id || between(node.record.last_seen, tick.now) > kNodeIsGoneAfter) continue;
    ++tick.peers;
    tick.peers_want_events = tick.peers_want_events || node.wants_events;
  }
  for (const auto& [number, held] : model_.tasks) {
    const Task& task = held.task;
    if (task.state == State::kRunning) tick.has_leases = true;
    if (task.state != State::kScheduled) continue;
    const Duration left = std::max(between(tick.now, task.run_at), Duration::zero());
    tick.next_due_in = std::min(tick.next_due_in.value_or(left), left);
  }
  for (const auto& [name, held] : model_.schedules) {
    if (!held.schedule.next_at) continue;
    const Duration left = std::max(between(tick.now, *held.schedule.next_at), Duration::zero());
    tick.next_due_in = std::min(tick.next_due_in.value_or(left), left);
  }
  for (const std::string& queue : std::set<std::string>(wish.awaited.begin(), wish.awaited.end())) {
    if (is_open(model_, queue) && has_ready(model_, queue)) tick.ready.push_back(queue);
  }
  return tick;
}

Result<std::vector<NodeRecord>> ModelClusterStore::nodes() {
  const std::lock_guard lock(model_.mutex);
  forget(model_);
  std::vector<NodeRecord> records;
  for (const auto& [id, node] : model_.nodes) records.push_back(node.record);
  std::ranges::stable_sort(records, {}, &NodeRecord::started_at);
  return records;
}

Result<void> ModelClusterStore::leave(std::string_view node) {
  const std::lock_guard lock(model_.mutex);
  std::erase_if(model_.nodes, [&](const auto& each) { return each.first == node; });
  return {};
}

Result<std::optional<Instant>> ModelClusterStore::last_awaited(std::string_view queue) {
  const std::lock_guard lock(model_.mutex);
  const auto found = model_.awaited.find(queue);
  return found == model_.awaited.end() ? std::nullopt : std::optional(found->second);
}

Result<std::optional<std::size_t>> ModelClusterStore::ahead(const TaskId& id, std::size_t most) {
  const std::lock_guard lock(model_.mutex);
  const ModelTask* wanted = model_.find_task(id);
  if (!wanted || wanted->task.state != State::kReady) return std::optional<std::size_t>();
  const auto place = [](const ModelTask& held) { return std::tuple(held.rank, held.ready_second, held.task.number); };
  const auto before = std::ranges::count_if(model_.tasks, [&](const auto& each) {
    const ModelTask& held = each.second;
    return held.task.queue == wanted->task.queue && held.task.state == State::kReady && place(held) < place(*wanted);
  });
  return std::optional(std::min(static_cast<std::size_t>(before), most));
}

}  // namespace horae::testing
