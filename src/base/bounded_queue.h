// A bounded blocking queue between threads that can be closed.
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

// First in, first out. A closed queue refuses every push and can still be drained; once it is empty, every pop returns
// nothing. What was pushed successfully is popped exactly once, unless the queue is destroyed first.
//
// Thread-safe; no call may be in progress when the destructor runs.
template <typename T>
class BoundedQueue {
 public:
  // `capacity` is above 0.
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {
    HORAE_CHECK(capacity > 0, "a queue without room would block forever");
  }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Blocks while the queue is full. False if the queue is closed; `value` is then left unchanged.
  [[nodiscard]] bool push(T&& value) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return closed_ || items_.size() < capacity_; });
    return put(lock, std::move(value));
  }

  // Does not block. False if the queue is full or closed; `value` is then left unchanged.
  [[nodiscard]] bool try_push(T&& value) {
    std::unique_lock lock(mutex_);
    if (items_.size() >= capacity_) return false;
    return put(lock, std::move(value));
  }

  // Blocks until there is a value. Nothing if the queue is closed and empty.
  std::optional<T> pop() {
    auto some = pop_some(1);
    if (some.empty()) return std::nullopt;
    return std::move(some.front());
  }

  // Does not block. Nothing if the queue is empty.
  std::optional<T> try_pop() {
    std::unique_lock lock(mutex_);
    auto some = take(lock, 1);
    if (some.empty()) return std::nullopt;
    return std::move(some.front());
  }

  // Blocks until there is a value, then takes all that are queued, `max` at most. Empty if the queue is closed and
  // empty.
  std::vector<T> pop_some(std::size_t max) {
    HORAE_CHECK(max > 0, "an empty batch would look like the end of the queue");
    std::unique_lock lock(mutex_);
    has_items_.wait(lock, [this] { return closed_ || !items_.empty(); });
    return take(lock, max);
  }

  // Idempotent. Wakes every blocked caller.
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
    // Several places became free, so several blocked pushes may continue.
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
