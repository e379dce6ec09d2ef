// The newest events of a node, for readers of /v1/events. The truth is in the store.
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

#include "observe/live_event.h"

namespace horae {

// Events are numbered from 1 on. Readers pull, each at its own pace; what a slow reader has missed is gone, and its
// next read says so. Nothing is kept for a reader.
//
// Without readers, events are counted and not kept: a reader that resumes then has missed them. After the last reader has left,
// they are kept as long as it may resume, which is until the ring would have overwritten what it saw last.
//
// Thread-safe.
class EventRing {
 public:
  explicit EventRing(std::size_t capacity = 1 << 16) : capacity_(capacity) {}

  // Keeps the events, or those of the changes that are events, if anybody may read them. An event without a queue gets the queue of an earlier
  // event of the same task, if that is remembered.
  void add(std::span<const LiveEvent> events);
  void add(std::span<const Change> changes);

  // Wakes all readers, although nothing was added: they may have to end.
  void wake_all() const { wake_readers(); }

  // Events of other nodes may have been lost: every reader gets Read::is_lost.
  void lose();

  struct Numbered {
    std::uint64_t number = 0;
    LiveEvent event;
  };
  struct Read {
    std::vector<Numbered> events;
    std::uint64_t next = 0;  // where to read on
    bool is_lost = false;    // events after the given number are gone
  };
  // What came after number `after`, `max` events at most. A number that was never given counts as one that is gone.
  Read after(std::uint64_t after, std::size_t max) const;

  std::uint64_t newest() const;

  // Calls `wake` after each add, on the thread that added, until leave(). A call that is under way then may still end
  // later.
  using ReaderId = std::uint64_t;
  ReaderId join(std::function<void()> wake);
  void leave(ReaderId reader);
  std::size_t readers() const;

  // `begun` is called when a reader joins while there is none, on the thread of join(). Set it before the first join().
  void set_first_reader(std::function<void()> begun) { first_reader_ = std::move(begun); }

 private:
  // With mutex_ held.
  void make_room();
  bool is_kept() const { return !wakes_.empty() || newest_ < keep_until_; }
  void skip(std::span<const Change> changes);
  void count(std::size_t events);
  void remember_queue(const TaskId& task, std::string_view queue);
  LiveEvent& next_place() { return events_[++newest_ % capacity_]; }
  void remember_queue(LiveEvent& event);

  void wake_readers() const;

  const std::size_t capacity_;
  std::function<void()> first_reader_ = [] {};

  mutable std::mutex mutex_;
  std::vector<LiveEvent> events_;  // guarded by mutex_; number n is at n % capacity
  std::uint64_t newest_ = 0;       // guarded by mutex_
  std::uint64_t lost_up_to_ = 0;   // guarded by mutex_; readers at this number or before have missed something
  std::uint64_t keep_until_ = 0;   // guarded by mutex_; events up to this number are kept, with or without readers
  ReaderId next_reader_ = 1;       // guarded by mutex_
  using Wake = std::shared_ptr<const std::function<void()>>;
  std::map<ReaderId, Wake> wakes_;  // guarded by mutex_

  // The queues of tasks of recent events. Each task has one place, which another task may take.
  struct KnownQueue {
    TaskId task;
    std::string queue;
  };
  KnownQueue& place_of(const TaskId& task);  // with mutex_ held
  std::vector<KnownQueue> known_;            // guarded by mutex_
};

}  // namespace horae
