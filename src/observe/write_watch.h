// Remembers that the store refused a write, until it takes one again: reads say nothing about a full disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "base/clock.h"
#include "base/result.h"

namespace horae {

// Thread-safe. The clock must outlive it.
class WriteWatch {
 public:
  explicit WriteWatch(const Clock& clock) : clock_(clock) {}

  // A call that writes has failed. Only kUnavailable counts: other errors are answers.
  void note_failed(const Error& error);

  // A new task was stored.
  void note_stored();

  // Good until a write is refused; then `probe` decides, once a second at most. In between its last answer counts. No
  // lock is held while it runs.
  Result<void> check(const std::function<Result<void>()>& probe);

 private:
  const Clock& clock_;
  std::atomic<bool> is_refused_ = false;
  std::mutex mutex_;
  std::uint64_t refusals_ = 0;  // guarded by mutex_
  MonotonicTime next_probe_;    // guarded by mutex_
  Result<void> last_probe_;     // guarded by mutex_
};

}  // namespace horae
