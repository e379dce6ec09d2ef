// Threads for calls that wait for a store, which would block the server's own threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace horae {

// Callers take turns, so one with many calls does not delay those of the others. Each has its calls in order.
//
// try_run() is thread-safe; start() and stop() from one thread.
class ReadPool {
 public:
  using Work = std::function<void()>;

  // A caller with a name may have a quarter of the waiting calls.
  ReadPool(int threads, std::size_t max_waiting) : thread_count_(threads), max_waiting_(max_waiting) {}
  ~ReadPool() { stop(); }
  ReadPool(const ReadPool&) = delete;
  ReadPool& operator=(const ReadPool&) = delete;

  void start();

  // Finishes the queued work, then ends the threads. Idempotent.
  void stop();

  // False, and `work` is not called, if too much is waiting, of this caller or of all, or after stop().
  [[nodiscard]] bool try_run(std::string_view caller, Work work);

 private:
  using Lines = std::map<std::string, std::deque<Work>, std::less<>>;  // no line is empty

  std::optional<Work> next();

  const int thread_count_;
  const std::size_t max_waiting_;
  std::vector<std::thread> threads_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Lines lines_;                        // guarded by mutex_; by caller
  std::deque<Lines::iterator> turns_;  // guarded by mutex_; each line once
  std::size_t waiting_ = 0;            // guarded by mutex_; in all lines
  bool is_closed_ = false;             // guarded by mutex_
};

}  // namespace horae
