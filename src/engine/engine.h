// All loops of a node, wired together and driven by threads.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/uuid.h"
#include "base/waker.h"
#include "engine/claimer.h"
#include "engine/dispatcher.h"
#include "engine/executors.h"
#include "engine/monitor.h"
#include "engine/promoter.h"
#include "engine/runner.h"
#include "engine/sleep_executor.h"
#include "engine/upkeep.h"
#include "store/store.h"

namespace horae {

struct EngineOptions {
  PromoterOptions promoter;
  MonitorOptions monitor;
  ClaimerOptions claimer;
  DispatcherOptions dispatcher;
  Duration upkeep_interval = std::chrono::minutes(1);
};

// Order of start: heartbeats first, then what ends and starts runs, then what brings new work. Order of stop: no new
// work is taken; chores are released and runs told to stop; until they have ended and the store knows it, or the grace
// time is over, everything goes on, heartbeats too; then the loops stop, heartbeats last.
//
// Threads: start() and stop() by one at a time; all else from any thread at once.
class Engine {
 public:
  // All references must outlive the engine. `owner` names this start of the node: QueueStore::new_worker_id().
  Engine(Store& store, const Clock& clock, Random& random, const std::string& owner, const Logger& log,
         const EngineOptions& options = {});
  ~Engine();

  void start();

  // Blocks for the grace time and the store calls that are under way at most. True if nothing was left behind; what is
  // left comes back when its lease expires. May be called twice.
  bool stop(Duration grace);

  // Somebody made tasks ready in these queues, or scheduled some for later, or cancelled some that may run here.
  void on_ready(const std::vector<std::string>& queues) { claimer_.on_ready(queues); }
  void on_scheduled() { wakers_.promoter.wake(); }
  void on_cancelled() { wakers_.heartbeats.wake(); }

  // A queue was paused or the scheduler was stopped or started: chores go back or come.
  void on_control();

  Claimer& claimer() { return claimer_; }
  DispatcherStatus status() const { return dispatcher_.status(); }

 private:
  struct Wakers {
    Waker heartbeats, exchange, dispatching, elevator, sleepers, upkeep, claimer, monitor, promoter;
    Waker drained;  // of stop()
  };

  DispatcherSignals signals();

  const Clock& clock_;
  UuidSource ids_;
  Wakers wakers_;
  SleepExecutor sleeps_;
  Executors executors_;
  Claimer claimer_;
  Upkeep upkeep_;
  Dispatcher dispatcher_;
  Promoter promoter_;
  Monitor monitor_;
  Runner runner_;
};

}  // namespace horae
