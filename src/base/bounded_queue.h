// A queue between threads that has a limit and an end.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"

namespace horae {

// First in, first out. Once closed, it takes nothing more and gives out what it still holds; then every pop says that
// it is over. What was pushed successfully is popped exactly once, unless the queue is destroyed first.
//
// Threads: every member may be called from any thread at once; the destructor by one, after the others have left.
template <typename T>
class BoundedQueue {
 public:
  // `capacity` is above 0.
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {
    HORAE_CHECK(capacity > 0, "a queue without room would block for ever");
  }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Waits for room. False if the queue is closed: the value was not taken, and is left as it was.
  [[nodiscard]] bool push(T&& value) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return closed_ || items_.size() < capacity_; });
    return put(lock, std::move(value));
  }

  // Does not wait. False if there is no room or the queue is closed: the value was not taken, and is left as it was.
  [[nodiscard]] bool try_push(T&& value) {
    std::unique_lock lock(mutex_);
    if (items_.size() >= capacity_) return false;
    return put(lock, std::move(value));
  }

  // Waits for a value. Nothing if the queue is closed and empty.
  std::optional<T> pop() {
    auto some = pop_some(1);
    if (some.empty()) return std::nullopt;
    return std::move(some.front());
  }

  // Does not wait. Nothing if the queue is empty.
  std::optional<T> try_pop() {
    std::unique_lock lock(mutex_);
    auto some = take(lock, 1);
    if (some.empty()) return std::nullopt;
    return std::move(some.front());
  }

  // Waits for at least one value, then takes what is there, `max` at most. Empty if the queue is closed and empty.
  std::vector<T> pop_some(std::size_t max) {
    HORAE_CHECK(max > 0, "a batch of none would look like the end of the queue");
    std::unique_lock lock(mutex_);
    has_items_.wait(lock, [this] { return closed_ || !items_.empty(); });
    return take(lock, max);
  }

  // May be called more than once. Wakes all who wait.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    has_room_.notify_all();
    has_items_.notify_all();
  }

  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }

  std::size_t capacity() const { return capacity_; }

 private:
  bool put(std::unique_lock<std::mutex>& lock, T&& value) {
    if (closed_) return false;
    items_.push_back(std::move(value));
    lock.unlock();
    has_items_.notify_one();
    return true;
  }

  std::vector<T> take(std::unique_lock<std::mutex>& lock, std::size_t max) {
    std::vector<T> some;
    while (!items_.empty() && some.size() < max) {
      some.push_back(std::move(items_.front()));
      items_.pop_front();
    }
    lock.unlock();
    // More than one place may have become free, so more than one pusher may go on.
    if (some.size() == 1) has_room_.notify_one();
    if (some.size() > 1) has_room_.notify_all();
    return some;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_items_;
  std::deque<T> items_;  // guarded by mutex_
  bool closed_ = false;  // guarded by mutex_
};

}  // namespace horae
