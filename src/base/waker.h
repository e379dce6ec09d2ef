// Lets a thread sleep until another thread wakes it or a deadline passes.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace horae {

// A wake-up is kept until the next wait(), so none is lost; several wake-ups before a wait() count as one.
//
// wake() is thread-safe; wait() is called by one thread at a time.
class Waker {
 public:
  void wake();

  // True if it was woken, false if `deadline`, on the system's monotonic clock, passed first.
  bool wait(MonotonicTime deadline);

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  bool pending_ = false;  // guarded by mutex_; a wake-up that no wait() has consumed
};

}  // namespace horae
