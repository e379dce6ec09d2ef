// What happened to tasks lately, as hints: for those who look on. The truth is in the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "model/state.h"
#include "model/task.h"

namespace horae {

// A task came into a state, as this node or another one saw it. That it became due is not told: only the store knows.
struct Hint {
  TaskId task;
  State state = State::kReady;
  std::string queue = {};  // empty if this node does not know it

  friend bool operator==(const Hint&, const Hint&) = default;
};

// The newest hints of a node, numbered from 1 on. Readers pull, each at its own pace; what a slow one has missed is
// gone for it, and it is told so. Nothing is kept for a reader.
//
// Threads: every member may be called from any thread at once.
class EventRing {
 public:
  explicit EventRing(std::size_t capacity = 1 << 16) : capacity_(capacity) {}

  // Keeps the hints, with the queue of those that do not tell it if an earlier one did.
  void add(std::span<const Hint> hints);

  // Somebody may have missed hints of other nodes: all readers are told so.
  void lose();

  struct Numbered {
    std::uint64_t number = 0;
    Hint hint;
  };
  struct Read {
    std::vector<Numbered> hints;
    std::uint64_t next = 0;  // read on after this one
    bool is_lost = false;    // hints after the given number are gone
  };
  // What came after number `after`, `max` hints at most. A number that was never given is as one that is gone.
  Read after(std::uint64_t after, std::size_t max) const;

  std::uint64_t newest() const;

  // Has `wake` called after each add, on the thread of whoever added, until leave(); one that is under way may still
  // come after it.
  using ReaderId = std::uint64_t;
  ReaderId join(std::function<void()> wake);
  void leave(ReaderId reader);
  std::size_t readers() const;

  // Has `begun` called when somebody reads after a time without readers, on the thread of that one. Before the first
  // join().
  void set_first_reader(std::function<void()> begun) { first_reader_ = std::move(begun); }

 private:
  void make_room();                 // with mutex_ held
  void remember_queue(Hint& hint);  // with mutex_ held
  void wake_readers() const;

  const std::size_t capacity_;
  std::function<void()> first_reader_ = [] {};

  mutable std::mutex mutex_;
  std::vector<Hint> hints_;       // guarded by mutex_; number n is at n % capacity
  std::uint64_t newest_ = 0;      // guarded by mutex_
  std::uint64_t lost_up_to_ = 0;  // guarded by mutex_; readers at this number or before have missed something
  ReaderId next_reader_ = 1;      // guarded by mutex_
  using Wake = std::shared_ptr<const std::function<void()>>;
  std::map<ReaderId, Wake> wakes_;  // guarded by mutex_

  // The queues of tasks that were told of lately. Each task has one place, which it may lose to another.
  struct Known {
    TaskId task;
    std::string queue;
  };
  std::vector<Known> known_;  // guarded by mutex_
};

}  // namespace horae
