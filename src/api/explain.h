// Explains why a task does not run.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/elevator_queue.h"
#include "model/task.h"

namespace horae {

inline constexpr std::size_t kMostAhead = 10'000;  // counted

// The facts about a ready or running task; for tasks in other states only `task` and `now` matter.
struct Circumstances {
  Task task;
  Instant now;  // the store's clock
  bool is_scheduler_running = true;
  bool is_queue_paused = false;
  std::optional<std::size_t> ahead;     // tasks that will be claimed before it, at most kMostAhead; nothing if unknown
  std::optional<Instant> last_awaited;  // when a worker last waited for tasks of its queue; nothing if never

  // Of a running task.
  std::optional<ChorePosition> chore;     // where it waits for a slot of this node; nothing if it does not
  std::optional<std::string> other_node;  // the address of its owner, if that is another node
};

struct Reason {
  std::string_view code;  // stable: "queue_paused"
  std::string detail;     // a sentence
};

// At least one, the most important first.
std::vector<Reason> explain(const Circumstances& circumstances);

}  // namespace horae
