#include "tests/store_contract/model_store.h"

#include <fmt/format.h>

#include <algorithm>

namespace horae::testing {

using std::chrono::floor;
using std::chrono::microseconds;

std::int64_t Model::now_second() const { return floor<std::chrono::seconds>(now()).time_since_epoch().count(); }

ModelTask* Model::find_task(const TaskId& id) {
  const auto found = ids.find(id);
  return found == ids.end() ? nullptr : &tasks.at(found->second);
}

ModelTask* Model::find_task(std::string_view queue, std::string_view key) {
  const auto found = keys.find({std::string(queue), std::string(key)});
  return found == keys.end() ? nullptr : &tasks.at(found->second);
}

// Reading: a new queue has the ageing that model/rank.h gives by default, counted from second 0. So the ranks of all
// queues that never changed their rate can be compared, as the list of ready tasks over all queues does.
ModelQueue* Model::make_queue(std::string_view name) {
  const auto found = queues.find(name);
  if (found != queues.end()) return &found->second;
  if (queues.size() >= kMaxQueues) return nullptr;
  ModelQueue& made = queues[std::string(name)];
  made.made_at = now();
  return &made;
}

std::size_t Model::queues_made_by(std::string_view token) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(queues, [&](const auto& queue) { return queue.second.made_by == token; }));
}

bool Model::has_any_task(std::string_view queue) const {
  return std::ranges::any_of(tasks, [&](const auto& held) { return held.second.task.queue == queue; });
}

bool Model::has_live_task(std::string_view queue) const {
  return std::ranges::any_of(
      tasks, [&](const auto& held) { return held.second.task.queue == queue && !is_terminal(held.second.task.state); });
}

std::map<std::int64_t, ModelTask>::iterator Model::purge(std::map<std::int64_t, ModelTask>::iterator held) {
  const Task& task = held->second.task;
  ids.erase(task.id);
  if (task.key) keys.erase({task.queue, *task.key});
  return tasks.erase(held);
}

// Reading: updated_at is the time of the newest accepted event of the state table, save a heartbeat that brought
// nothing. Repetitions, refusals, late results and extend_leases() leave it alone too.
void Model::move(ModelTask& held, Event event, Condition condition) const {
  held.task.state = **next_state(held.task.id, event, held.task.state, condition);
  held.task.updated_at = now();
}

void Model::renumber(const std::map<TaskId, std::int64_t>& numbers) {
  std::vector<ModelTask> moved;
  for (const auto& [id, number] : numbers) moved.push_back(std::move(tasks.extract(ids.at(id)).mapped()));
  for (ModelTask& held : moved) {
    const std::int64_t number = numbers.at(held.task.id);
    held.task.number = ids[held.task.id] = number;
    if (held.task.key) keys[{held.task.queue, *held.task.key}] = number;
    last_number = std::max(last_number, number);
    tasks[number] = std::move(held);
  }
}

void Model::rank(ModelTask& held) {
  held.ready_second = now_second();
  held.rank = rank_of(queues.at(held.task.queue).ageing, held.ready_second, held.task.priority);
}

Task view_without_history(const ModelTask& held) {
  Task task = held.task;
  const bool ended_waiting = task.state == State::kCancelled && !(held.ended && held.ended->event == Event::kCancel);
  const bool shows_attempt = task.state == State::kRunning || (is_terminal(task.state) && !ended_waiting);
  if (!shows_attempt) {
    task.owner.reset();
    task.started_at.reset();
  }
  if (task.state != State::kRunning) task.lease_expires.reset();
  return task;
}

Task view(const ModelTask& held) {
  Task task = view_without_history(held);
  for (const HistoryEntry& entry : held.log) task.history.append(entry);
  return task;
}

Duration between(Instant from, Instant to) {
  const microseconds wait = to - from;
  if (wait > floor<microseconds>(Duration::max())) return Duration::max();
  if (wait < -floor<microseconds>(Duration::max())) return Duration::min();
  return wait;
}

Instant after(Instant from, Duration wait) { return from + floor<microseconds>(wait); }

Error refused(std::string message) { return {ErrorCode::kRefused, std::move(message)}; }

Result<void> check_batch(std::size_t items) {
  if (items <= kMaxBatch) return {};
  return refused(
      fmt::format("{} items in one call: at most {} are allowed; send the rest in another", items, kMaxBatch));
}

}  // namespace horae::testing
