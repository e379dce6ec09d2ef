// Upkeep of the node and its store, recorded as internal tasks.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/uuid.h"
#include "engine/loop.h"
#include "engine/slots/executor.h"
#include "store/task_store.h"

namespace horae {

inline constexpr char kInternalQueue[] = "horae.internal";
inline constexpr std::size_t kMaxUpkeepOutput = 1 << 14;  // bytes of one pass; the rest is dropped

// The result of one batch of work: "purged 12 finished tasks", or empty if there was no work.
struct UpkeepStep {
  std::string did;
  bool more = false;  // there is more to do now
};

struct UpkeepJob {
  std::string name;
  std::function<Result<UpkeepStep>()> step;
  Duration interval = std::chrono::minutes(1);  // between passes
  Duration breath =
      std::chrono::milliseconds(100);  // between batches, so that other calls of the store come in between
};

// Removes finished tasks after the retention of their queue, and does the store's own periodic upkeep.
UpkeepJob retention_job(TaskStore& tasks, std::size_t batch = kMaxBatch);

// A pass begins with one batch. If that did anything, the pass is recorded as a task of kInternalQueue that is created
// running, so that no worker claims it, and with one try, so that a crash aborts it: it never comes back as ready. The
// rest of the pass is run as a chore of the dispatcher, and its output is the result of the task:
// {"output": "purged 1000 finished tasks\n..."}. A pass that found nothing to do leaves no trace.
//
// The loop does the work; as an executor it learns from the dispatcher which passes have a slot.
//
// run_once() from one thread at a time; the members of Executor are thread-safe. Callbacks run with no lock held.
class Upkeep final : public Loop, public Executor {
 public:
  struct Parts {
    TaskStore& tasks;
    UuidSource& ids;
    std::function<void(LeasedTask)> add_chore;  // to the dispatcher
    std::function<void()> wake;                 // has run_once() called soon
  };
  // `owner` and `lease` are those of the dispatcher, which sends the heartbeats. All references must outlive this.
  Upkeep(Parts parts, std::string owner, Duration lease, Logger log, std::vector<UpkeepJob> jobs);

  std::string_view name() const override { return "upkeep"; }
  MonotonicTime run_once(MonotonicTime now) override;

  void start(ChoreId run, const LeasedTask& task, MonotonicTime now, OnEnd on_end) override;
  void stop(ChoreId run, MonotonicTime now) override;
  RunProgress progress(ChoreId run, MonotonicTime now) override;

 private:
  struct Run {
    OnEnd on_end;
    std::string output;
    MonotonicTime next;
    bool is_stopping = false;
  };
  struct Job {
    UpkeepJob job;
    MonotonicTime next;                    // of run_once() only: the next pass
    std::optional<Submission> unrecorded;  // of run_once() only: a pass has begun, and the store has not said yes yet
    std::optional<ChoreId> run;            // guarded by mutex_: the pass that has a slot
  };

  void begin_pass(Job& job, MonotonicTime now);
  void record(Job& job);
  void go_on(Job& job, ChoreId run, MonotonicTime now);
  void end(Job& job, ChoreId run, bool is_failed, std::string_view last_line);
  MonotonicTime next_run(MonotonicTime now);

  TaskStore& tasks_;
  UuidSource& ids_;
  const std::function<void(LeasedTask)> add_chore_;
  const std::function<void()> wake_;
  const std::string owner_;
  const Duration lease_;
  Logger log_;

  std::vector<Job> jobs_;  // the number of them never changes
  std::mutex mutex_;
  std::map<ChoreId, Run> runs_;  // guarded by mutex_
};

}  // namespace horae
