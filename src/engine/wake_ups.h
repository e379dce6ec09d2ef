// Which loops have work after a change.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "store/change.h"

namespace horae {

struct WakeUps {
  std::vector<std::string> ready;  // queues that got ready tasks or give tasks again, without repetition
  bool ready_anywhere = false;     // the same, in queues that the change does not name
  bool scheduled = false;          // tasks, or schedules, wait for their time
  bool cancelled = false;          // tasks were cancelled that may run on some node
  bool control = false;            // a queue was paused or resumed, or the scheduler stopped or started

  friend bool operator==(const WakeUps&, const WakeUps&) = default;
};

WakeUps wake_ups_of(std::span<const Change> changes);

}  // namespace horae
