// Threads for what would hold up the server's own: calls that wait for a store.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "base/bounded_queue.h"

namespace horae {

// Threads: every member may be called from any thread at once, start() and stop() by one.
class ReadPool {
 public:
  using Work = std::function<void()>;

  ReadPool(int threads, std::size_t max_waiting) : thread_count_(threads), queue_(max_waiting) {}
  ~ReadPool() { stop(); }
  ReadPool(const ReadPool&) = delete;
  ReadPool& operator=(const ReadPool&) = delete;

  void start();

  // Does what it has taken, then ends. May be called more than once.
  void stop();

  // False if too much waits already, or after stop(): then `work` is not called.
  [[nodiscard]] bool try_run(Work work) { return queue_.try_push(std::move(work)); }

 private:
  const int thread_count_;
  BoundedQueue<Work> queue_;
  std::vector<std::thread> threads_;
};

}  // namespace horae
