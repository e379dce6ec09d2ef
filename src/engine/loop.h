// A recurring job of the engine.
#pragma once

#include <string_view>

#include "base/clock.h"

namespace horae {

// No loop owns a thread, sleeps or reads a clock: production drives loops with threads (runner.h), the simulator with a
// virtual clock. Every loop may run on all nodes at the same time.
//
// One thread at a time for each loop, unless a loop promises more.
class Loop {
 public:
  virtual ~Loop() = default;

  virtual std::string_view name() const = 0;

  // Does the work that is due, waiting for nothing but the store, and returns when it wants to run next; it may be run
  // earlier. `now` is the node's monotonic time, for pacing only: the store's clock decides about tasks.
  virtual MonotonicTime run_once(MonotonicTime now) = 0;
};

}  // namespace horae
