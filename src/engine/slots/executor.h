// What runs a task in one of the node's own slots.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/elevator_queue.h"
#include "store/lease.h"

namespace horae {

// How far a run has come; what is absent has not changed.
struct RunProgress {
  std::optional<double> progress;
  std::optional<std::string> checkpoint;
};

// How a run ended.
struct RunEnd {
  enum class Kind {
    kDone,     // the task is completed, with `result`
    kFailed,   // the attempt is aborted, with `errors` (at least one)
    kStopped,  // it was told to stop: the task is yielded, with `last`
  };

  Kind kind = Kind::kDone;
  std::optional<std::string> result;  // JSON
  std::vector<TaskError> errors;
  RunProgress last;
};

RunEnd run_done(std::optional<std::string> result = std::nullopt);
RunEnd run_failed(std::string code, std::string description);
RunEnd run_stopped(RunProgress last = {});

// An execution is named by the chore that it was. Nothing here waits: what takes time happens elsewhere (a loop, a
// process, threads of its own).
//
// Threads: every member may be called from any thread at once, but for one run start() comes before the rest.
class Executor {
 public:
  // Called exactly once for each start, on any thread, also before start() returns. It may call back.
  using OnEnd = std::function<void(RunEnd)>;

  virtual ~Executor() = default;

  // Begins to run the task. A spec that cannot be run ends at once, as failed.
  virtual void start(ChoreId run, const LeasedTask& task, MonotonicTime now, OnEnd on_end) = 0;

  // The run is to end soon; if it does not end by itself just now, it ends as stopped. A run that has ended is ignored.
  virtual void stop(ChoreId run, MonotonicTime now) = 0;

  // For heartbeats. Of a run that has ended: nothing.
  virtual RunProgress progress(ChoreId run, MonotonicTime now) = 0;
};

}  // namespace horae
