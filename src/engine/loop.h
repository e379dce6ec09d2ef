// Something that the engine does again and again.
#pragma once

#include <string_view>

#include "base/clock.h"

namespace horae {

// No loop owns a thread, sleeps or asks for the time: production drives them with threads (runner.h), the simulator
// with a virtual clock. All of them may run on all nodes at once.
//
// Threads: one at a time for each loop, unless a loop says more.
class Loop {
 public:
  virtual ~Loop() = default;

  virtual std::string_view name() const = 0;

  // Does what there is to do, waiting for nothing but the store, and answers when it wants to run next; it may be run
  // earlier. `now` is the node's monotonic time, for pacing only: what decides about tasks is the store's clock.
  virtual MonotonicTime run_once(MonotonicTime now) = 0;
};

}  // namespace horae
