// A cache of the tasks that this node stored or claimed lately: the id of a number, what to run, and the lease.
//
// A task row is written once, and a number never gets another id, so a cached id is valid for its database forever.
// What is not cached is read from the database. The lease is a hint: it may have been cut or ended since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/lease.h"
#include "store/submission.h"
#include "stores/postgres/layout/ranges.h"

namespace horae::postgres {

// A lease as this node made it: all the tasks of the range, and none of them recurring.
struct KnownLease {
  Range range;
  int queue = 0;
  int attempt = 0;
  std::size_t owner_hash = 0;

  KnownLease(const Range& tasks, int its_queue, int number, std::string_view owner)
      : range(tasks), queue(its_queue), attempt(number), owner_hash(std::hash<std::string_view>{}(owner)) {}

  // False for any other owner, but for a clash of hashes: the database decides.
  bool may_be_of(std::string_view owner) const { return owner_hash == std::hash<std::string_view>{}(owner); }
};

struct KnownTask {
  std::int64_t number = 0;
  KnownLease lease;
};

// Thread-safe.
class KnownTasks {
 public:
  // Caches what newly stored tasks will need when they are claimed, or settled if they run already; a large spec is not
  // worth its space. An entry has a number, a queue and a submission.
  template <typename Entries>
  void remember(const Entries& entries) {
    const std::lock_guard lock(mutex_);
    for (const auto& entry : entries) {
      const NewTask& task = entry.submission->task;
      if (task.spec.size() > kMostSpecBytes) continue;
      Slot& slot = slot_of(entry.number);
      slot = {entry.number, entry.submission->id(), Payload{task.priority, task.spec}, std::nullopt};
      number_of(slot.id) = entry.number;
      if (entry.submission->start && !task.recurring) {
        slot.lease = KnownLease({entry.number, entry.number}, entry.queue, 1, entry.submission->start->owner);
      }
    }
  }

  // Fills in id, priority and spec of the tasks, by their numbers. Answers the numbers of those that are not known.
  std::vector<std::int64_t> fill(const std::vector<LeasedTask*>& tasks) {
    std::vector<std::int64_t> unknown;
    const std::lock_guard lock(mutex_);
    for (LeasedTask* task : tasks) {
      Slot& slot = slot_of(task->number);
      if (slot.number != task->number || !slot.payload) {
        unknown.push_back(task->number);
        continue;
      }
      // It is rarely claimed twice: the spec moves out, the id stays.
      task->id = slot.id;
      task->priority = slot.payload->priority;
      task->spec = std::move(slot.payload->spec);
      slot.payload.reset();
    }
    return unknown;
  }

  void remember_ids(const std::vector<LeasedTask>& tasks) {
    const std::lock_guard lock(mutex_);
    for (const LeasedTask& task : tasks) {
      slot_of(task.number) = {task.number, task.id, std::nullopt, std::nullopt};
      number_of(task.id) = task.number;
    }
  }

  // Of tasks whose ids are cached.
  void remember_lease(const KnownLease& lease) {
    const std::lock_guard lock(mutex_);
    for (std::int64_t number = lease.range.lo; number <= lease.range.hi; ++number) {
      Slot& slot = slot_of(number);
      if (slot.number == number) slot.lease = lease;
    }
  }

  // Of tasks that were completed, or whose lease had changed: a repeated settlement takes the general path at once.
  void forget_lease(std::int64_t number) {
    const std::lock_guard lock(mutex_);
    Slot& slot = slot_of(number);
    if (slot.number == number) slot.lease.reset();
  }

  // The number and the lease of each settlement's task. Nothing unless all of them are known, each number that was given
  // to be that of its id, and each owner to be that of the lease: what a stranger reports costs no vain attempt, and no
  // owner the knowledge of its lease.
  template <typename Settlements>
  std::optional<std::vector<KnownTask>> leases_of(const Settlements& settlements) {
    std::vector<KnownTask> tasks;
    tasks.reserve(settlements.size());
    const std::lock_guard lock(mutex_);
    for (const auto& each : settlements) {
      const std::int64_t number = each.number > 0 ? each.number : number_of(each.id);
      const Slot& slot = slot_of(number);
      if (slot.number != number || slot.id != each.id || !slot.lease) return std::nullopt;
      if (!slot.lease->may_be_of(each.owner)) return std::nullopt;
      tasks.push_back({number, *slot.lease});
    }
    return tasks;
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

  // The database is another one: see DatabaseIdentity.
  void forget() {
    const std::lock_guard lock(mutex_);
    slots_ = std::vector<Slot>(kSlots);
    numbers_ = std::vector<std::int64_t>(kSlots);
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
    std::optional<KnownLease> lease;
  };

  // Consecutive numbers have different slots.
  Slot& slot_of(std::int64_t number) { return slots_[static_cast<std::size_t>(number) % kSlots]; }

  // The number of the task that has this id, or of another one; the slot of the number decides.
  std::int64_t& number_of(const TaskId& id) { return numbers_[std::hash<TaskId>{}(id) % kSlots]; }

  std::mutex mutex_;
  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);                    // guarded by mutex_
  std::vector<std::int64_t> numbers_ = std::vector<std::int64_t>(kSlots);  // guarded by mutex_
};

}  // namespace horae::postgres
