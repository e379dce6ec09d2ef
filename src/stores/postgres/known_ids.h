// Which id has which number, of tasks that were handed out lately.
//
// A number never gets another id, so what was once seen holds for ever; what was forgotten is asked for again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "model/task.h"

namespace horae::postgres {

// Threads: any thread at once.
class KnownIds {
 public:
  // For each of `items`, number_of(item) has the id id_of(item).
  template <typename Items>
  void remember(const Items& items) {
    const std::lock_guard lock(mutex_);
    for (const auto& item : items) slot_of(item.number) = {item.number, item.id};
  }

  // True if all are known to belong together.
  template <typename Items>
  bool confirm(const Items& items) {
    const std::lock_guard lock(mutex_);
    for (const auto& item : items) {
      const Slot& slot = slot_of(item.number);
      if (slot.number != item.number || slot.id != item.id) return false;
    }
    return true;
  }

 private:
  struct Slot {
    std::int64_t number = -1;
    TaskId id;
  };

  // Numbers that follow one another have slots of their own.
  Slot& slot_of(std::int64_t number) { return slots_[static_cast<std::size_t>(number) % slots_.size()]; }

  std::mutex mutex_;
  std::vector<Slot> slots_ = std::vector<Slot>(1 << 16);  // guarded by mutex_
};

}  // namespace horae::postgres
