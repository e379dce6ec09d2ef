// What never changes about tasks that this node has seen lately: the id that belongs to a number, and what to run.
//
// A task row is written once, and a number never gets another id, so what was once seen holds for ever. What was
// forgotten is asked for again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/lease.h"

namespace horae::postgres {

// Threads: any thread at once.
class KnownTasks {
 public:
  // Keeps what a task that was just stored will need when it is claimed; a large spec is not worth its room.
  void remember(std::int64_t number, const TaskId& id, int priority, const std::string& spec) {
    if (spec.size() > kMostSpecBytes) return;
    const std::lock_guard lock(mutex_);
    slot_of(number) = {number, id, Payload{priority, spec}};
  }

  // Fills in id, priority and spec of the tasks, by their numbers. Answers the numbers of those that are not known.
  std::vector<std::int64_t> fill(std::vector<LeasedTask>& tasks) {
    std::vector<std::int64_t> unknown;
    const std::lock_guard lock(mutex_);
    for (LeasedTask& task : tasks) {
      Slot& slot = slot_of(task.number);
      if (slot.number != task.number || !slot.payload) {
        unknown.push_back(task.number);
        continue;
      }
      // It is rarely claimed twice: the spec moves out, the id stays.
      task.id = slot.id;
      task.priority = slot.payload->priority;
      task.spec = std::move(slot.payload->spec);
      slot.payload.reset();
    }
    return unknown;
  }

  void remember_ids(const std::vector<LeasedTask>& tasks) {
    const std::lock_guard lock(mutex_);
    for (const LeasedTask& task : tasks) slot_of(task.number) = {task.number, task.id, std::nullopt};
  }

  // True if each settlement's number is known to be that of its id.
  template <typename Settlements>
  bool confirm(const Settlements& settlements) {
    const std::lock_guard lock(mutex_);
    for (const auto& each : settlements) {
      const Slot& slot = slot_of(each.number);
      if (slot.number != each.number || slot.id != each.id) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kSlots = 1 << 15;
  static constexpr std::size_t kMostSpecBytes = 1024;  // 32 MiB in all

  struct Payload {
    int priority = 0;
    std::string spec;
  };
  struct Slot {
    std::int64_t number = -1;
    TaskId id;
    std::optional<Payload> payload;
  };

  // Numbers that follow one another have slots of their own.
  Slot& slot_of(std::int64_t number) { return slots_[static_cast<std::size_t>(number) % kSlots]; }

  std::mutex mutex_;
  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);  // guarded by mutex_
};

}  // namespace horae::postgres
