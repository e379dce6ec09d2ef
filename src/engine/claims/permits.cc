#include "engine/claims/permits.h"

#include <algorithm>

#include "base/mutant.h"

namespace horae {
namespace {

// Whether the wish got all that was ready. A claim may also get less than its `max` because more bytes do not fit.
bool proves_empty(const ClaimWish& wish, const ClaimOutcome& outcome) {
  if (outcome.kind != ClaimOutcome::Kind::kNew) return false;
  if (outcome.tasks.size() >= static_cast<std::size_t>(std::max(wish.max, 0))) return false;
  std::size_t bytes = 0;
  for (const LeasedTask& task : outcome.tasks)
    bytes += task.spec.size() + (task.checkpoint ? task.checkpoint->size() : 0);
  return bytes + kMaxSpecBytes + kMaxCheckpointBytes <= kMaxClaimBytes;
}

// A token that had served before gives nothing that was ready.
std::size_t fresh_tasks_of(const ClaimOutcome& outcome, const std::string& queue) {
  if (outcome.kind != ClaimOutcome::Kind::kNew) return 0;
  return static_cast<std::size_t>(std::ranges::count(outcome.tasks, queue, &LeasedTask::queue));
}

}  // namespace

Permits::Queue* Permits::find(std::string_view queue) {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? nullptr : &found->second;
}

void Permits::announce(std::string_view queue, std::size_t count) {
  Queue* known = find(queue);
  if (known == nullptr) return;  // it has a hint already
  known->permits += count;
  known->announced += count;
  if (count == 0) known->has_hint = true;
}

void Permits::announce_anywhere() {
  for (auto& [name, queue] : queues_) queue.has_hint = true;
}

bool Permits::has_work(std::string_view queue) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() || found->second.permits > 0 || found->second.has_hint;
}

bool Permits::has_work(const ClaimWish& wish) const {
  return std::ranges::any_of(wish.queues, [this](const std::string& queue) { return has_work(queue); });
}

Permits::Grant Permits::take(const ClaimWish& wish) {
  if (queues_.size() + wish.queues.size() > kMaxPermitQueues) queues_.clear();
  Grant grant;
  auto room = static_cast<std::size_t>(std::max(wish.max, 0));
  for (const std::string& name : wish.queues) {
    auto [entry, is_new] = queues_.try_emplace(name, Queue{.has_hint = true});
    Queue& queue = entry->second;
    const std::size_t taken = std::min(room, queue.permits);
    grant.queues.push_back({.queue = name, .permits = taken, .has_hint = queue.has_hint, .announced = queue.announced});
    room -= taken;
    queue.permits -= taken;
    queue.has_hint = false;
  }
  return grant;
}

void Permits::note_outcome(const Grant& grant, const ClaimWish& wish, const ClaimOutcome& outcome) {
  const bool is_empty = proves_empty(wish, outcome);
  for (const Grant::OfQueue& given : grant.queues) {
    Queue* queue = find(given.queue);
    if (queue == nullptr) continue;
    if (is_empty) {
      queue->permits = std::min<std::size_t>(queue->permits, queue->announced - given.announced);
      continue;
    }
    if (given.has_hint) queue->has_hint = true;
    // More tasks than permits: they may be tasks of other nodes, so the permits that are left are not theirs.
    const std::size_t used = std::min(given.permits, fresh_tasks_of(outcome, given.queue));
    if (!HORAE_MUTANT("permit_lost_with_another_queue")) queue->permits += given.permits - used;
  }
}

void Permits::note_failure(const Grant& grant) {
  if (HORAE_MUTANT("permit_lost_with_failed_claim")) return;
  for (const Grant::OfQueue& given : grant.queues) {
    Queue* queue = find(given.queue);
    if (queue == nullptr) continue;
    queue->permits += given.permits;
    queue->has_hint = queue->has_hint || given.has_hint;
  }
}

}  // namespace horae
