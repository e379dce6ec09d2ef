// A bell: somebody waits until it rings or until a time has come.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace horae {

// A ring is kept until somebody has waited for it, so none is lost; several before a wait are one.
//
// Threads: any number may ring at once; one waits.
class Waker {
 public:
  void wake();

  // True if it rang, false if `deadline` on the system's monotonic clock came first.
  bool wait(MonotonicTime deadline);

 private:
  std::mutex mutex_;
  std::condition_variable rang_;
  bool is_rung_ = false;  // guarded by mutex_
};

}  // namespace horae
