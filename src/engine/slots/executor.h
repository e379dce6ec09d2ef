// Runs tasks in the node's own slots.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/elevator_queue.h"
#include "store/lease.h"

namespace horae {

// Progress of a run; an absent value has not changed.
struct RunProgress {
  std::optional<double> progress;
  std::optional<std::string> checkpoint;
};

// How a run ended.
struct RunEnd {
  enum class Kind {
    kDone,     // the task is completed, with `result`
    kFailed,   // the attempt is aborted, with `errors` (at least one)
    kStopped,  // after stop(): the task is yielded, with `last`
  };

  Kind kind = Kind::kDone;
  std::optional<std::string> result;  // JSON
  std::vector<TaskError> errors;
  RunProgress last;
};

RunEnd run_done(std::optional<std::string> result = std::nullopt);
RunEnd run_failed(std::string code, std::string description);
RunEnd run_stopped(RunProgress last = {});

// A run has the id of its chore. No call blocks: long work happens elsewhere (in a loop, a process, other threads).
//
// Thread-safe; for one run, start() is called before the other members.
class Executor {
 public:
  // Called exactly once for each start, on any thread, perhaps before start() returns. It may call back.
  using OnEnd = std::function<void(RunEnd)>;

  virtual ~Executor() = default;

  // Begins to run the task. A spec that cannot be run ends at once, as failed.
  virtual void start(ChoreId run, const LeasedTask& task, MonotonicTime now, OnEnd on_end) = 0;

  // The run must end soon: as stopped, unless it ends by itself just now. Does nothing for a run that has ended.
  virtual void stop(ChoreId run, MonotonicTime now) = 0;

  // For heartbeats. Empty for a run that has ended.
  virtual RunProgress progress(ChoreId run, MonotonicTime now) = 0;
};

}  // namespace horae
