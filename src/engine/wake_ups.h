// Which loops have work after a change.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "store/change.h"

namespace horae {

struct ReadyTasks {
  std::string queue;
  std::size_t count = 0;

  friend bool operator==(const ReadyTasks&, const ReadyTasks&) = default;
};

struct WakeUps {
  std::vector<ReadyTasks> counted;            // queues that got so many ready tasks, without repetition
  std::vector<std::string> ready;             // that got an unknown number, or give tasks again, without repetition
  bool ready_anywhere = false;                // the same, in queues that the change does not name
  bool scheduled = false;                     // tasks, or schedules, wait for their time
  bool cancelled = false;                     // tasks were cancelled that may run on some node
  std::vector<std::string> cancelled_owners;  // owners of running tasks that were cancelled, without repetition
  bool control = false;                       // a queue was paused or resumed, or the scheduler stopped or started

  friend bool operator==(const WakeUps&, const WakeUps&) = default;
};

WakeUps wake_ups_of(std::span<const Change> changes);

}  // namespace horae
