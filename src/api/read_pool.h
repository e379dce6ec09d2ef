// Threads for calls that wait for a store, which would block the server's own threads.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "base/bounded_queue.h"

namespace horae {

// try_run() is thread-safe; start() and stop() from one thread.
class ReadPool {
 public:
  using Work = std::function<void()>;

  ReadPool(int threads, std::size_t max_waiting) : thread_count_(threads), queue_(max_waiting) {}
  ~ReadPool() { stop(); }
  ReadPool(const ReadPool&) = delete;
  ReadPool& operator=(const ReadPool&) = delete;

  void start();

  // Finishes the queued work, then ends the threads. Idempotent.
  void stop();

  // False, and `work` is not called, if the queue is full or after stop().
  [[nodiscard]] bool try_run(Work work) { return queue_.try_push(std::move(work)); }

 private:
  const int thread_count_;
  BoundedQueue<Work> queue_;
  std::vector<std::thread> threads_;
};

}  // namespace horae
