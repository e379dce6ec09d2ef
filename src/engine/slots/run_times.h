// How long the runs of a node take, and so how many more tasks it may claim before a slot is free for them.
#pragma once

#include <cstddef>

#include "base/clock.h"

namespace horae {

// Expects of the next run what the longest of the last runs took: a longer run counts at once, and then fades with every
// shorter one. To claim too little ahead costs a pause between two runs; to claim too much keeps tasks from other nodes.
//
// Not thread-safe: one thread at a time.
class RunTimes {
 public:
  // A run has ended.
  void add(Duration took);

  // How many tasks that wait behind those in `slots` begin within `time`, if every run takes as long as expected. Zero
  // if a run takes longer than that.
  std::size_t starts_within(Duration time, std::size_t slots) const;

  Duration expected() const { return expected_; }

 private:
  Duration expected_ = std::chrono::seconds(1);  // before the first run has ended
};

}  // namespace horae
