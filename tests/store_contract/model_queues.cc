// The model store: queues and what is said to the whole cluster.

#include <fmt/format.h>

#include <algorithm>

#include "tests/store_contract/model_store.h"

namespace horae::testing {
namespace {

std::int64_t& count_of(QueueInfo& info, State state) {
  switch (state) {
    case State::kScheduled:
      return info.scheduled;
    case State::kReady:
      return info.ready;
    case State::kRunning:
      return info.running;
    case State::kCompleted:
      return info.completed;
    case State::kAborted:
      return info.aborted;
    case State::kCancelled:
      break;
  }
  return info.cancelled;
}

// Reading: a task that came back (yield, release, expire) counts from the second in which it first became ready, as its
// rank does. Never negative, also after the clock was set back.
Duration ready_for(const Model& model, const ModelTask& held) {
  return std::chrono::seconds(std::max<std::int64_t>(0, model.now_second() - held.ready_second));
}

}  // namespace

Result<QueueList> ModelQueueStore::queues() {
  const std::lock_guard lock(model_.mutex);
  std::map<std::string, QueueInfo> infos;
  for (const auto& [name, queue] : model_.queues) infos[name] = {.name = name, .settings = queue.settings};
  for (const auto& [number, held] : model_.tasks) {
    QueueInfo& info = infos.at(held.task.queue);
    ++count_of(info, held.task.state);
    if (held.task.state != State::kReady) continue;
    info.oldest_ready = std::max(info.oldest_ready.value_or(Duration::zero()), ready_for(model_, held));
  }
  QueueList list{.as_of = model_.now()};
  for (auto& [name, info] : infos) list.queues.push_back(info);
  return list;
}

Result<QueueSettings> ModelQueueStore::configure(std::string_view queue, const QueueChange& change) {
  if (auto checked = check_queue_name(queue); !checked.ok()) return checked.error();
  if (auto checked = check_queue_change(change); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  ModelQueue* found = model_.make_queue(queue);
  if (!found) return too_many_queues(queue, kMaxQueues);
  found->is_configured = true;
  QueueSettings& settings = found->settings;
  if (change.paused) settings.paused = *change.paused;
  if (change.retention) settings.retention = *change.retention;
  if (change.ageing_rate) {
    settings.ageing_rate = *change.ageing_rate;
    found->ageing = with_rate(found->ageing, *change.ageing_rate, model_.now_second());
  }
  return settings;
}

// Reading: a call that removes finished tasks leaves the queue itself to the next one.
Result<QueueRemoval> ModelQueueStore::remove(std::string_view queue, std::size_t max) {
  if (auto checked = check_queue_name(queue); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  const auto found = model_.queues.find(queue);
  if (found == model_.queues.end()) return QueueRemoval{.kind = QueueRemoval::Kind::kNotFound};
  if (model_.has_live_task(queue)) return QueueRemoval{.kind = QueueRemoval::Kind::kHasTasks};
  QueueRemoval removal{.kind = QueueRemoval::Kind::kPurging};
  for (auto each = model_.tasks.begin(); each != model_.tasks.end() && removal.purged < max;) {
    const bool is_in_queue = each->second.task.queue == queue;
    removal.purged += is_in_queue ? 1U : 0U;
    each = is_in_queue ? model_.purge(each) : std::next(each);
  }
  if (removal.purged > 0) return removal;
  model_.queues.erase(found);
  return QueueRemoval{.kind = QueueRemoval::Kind::kRemoved};
}

Result<bool> ModelQueueStore::set_scheduler_running(bool running) {
  const std::lock_guard lock(model_.mutex);
  return std::exchange(model_.scheduler_running, running) != running;
}

Result<bool> ModelQueueStore::scheduler_running() {
  const std::lock_guard lock(model_.mutex);
  return model_.scheduler_running;
}

Result<std::vector<std::string>> ModelQueueStore::closed(std::span<const std::string> queues) {
  const std::lock_guard lock(model_.mutex);
  std::vector<std::string> closed;
  for (const std::string& queue : queues) {
    const auto found = model_.queues.find(queue);
    const bool paused = found != model_.queues.end() && found->second.settings.paused;
    if (paused || !model_.scheduler_running) closed.push_back(queue);
  }
  return closed;
}

Result<std::string> ModelQueueStore::new_worker_id() {
  const std::lock_guard lock(model_.mutex);
  return fmt::format("worker-{}", ++model_.last_worker);
}

}  // namespace horae::testing
