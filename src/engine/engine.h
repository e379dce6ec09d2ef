// All loops of a node, wired together and driven by threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/uuid.h"
#include "base/waker.h"
#include "engine/claims/claimer.h"
#include "engine/slots/dispatcher.h"
#include "engine/slots/executors.h"
#include "engine/cluster/herald.h"
#include "engine/cluster/lookout.h"
#include "engine/lifecycle/monitor.h"
#include "engine/lifecycle/promoter.h"
#include "engine/runner.h"
#include "engine/slots/sleep_executor.h"
#include "engine/lifecycle/upkeep.h"
#include "store/store.h"

namespace horae {

// How often a loop looks by itself that a Lookout wakes: if that is right, never in vain.
inline constexpr Duration kSafetyNet = std::chrono::minutes(1);

struct EngineOptions {
  PromoterOptions promoter = {.poll = kSafetyNet};
  MonitorOptions monitor = {.idle_poll = kSafetyNet};
  ClaimerOptions claimer = {.poll = kSafetyNet};
  DispatcherOptions dispatcher;
  LookoutOptions lookout;
  HeraldOptions herald;
  Duration upkeep_interval = std::chrono::minutes(10);
};

// Who else wants to know what other nodes said. Called on threads of the engine, and should return soon.
struct EngineListeners {
  std::function<void(const Tick&)> ticked = [](const Tick&) {};

  // Hints of another node; `lost` if some are missing. Both may be so at once.
  std::function<void(const std::vector<std::string>& hints, bool lost)> hinted = [](const auto&, bool) {};
};

// Order of start: heartbeats first, then what ends and starts runs, then what brings new work. Order of stop: no new
// work is taken; chores are released and runs told to stop; until they have ended and the store knows it, or the grace
// time is over, everything goes on, heartbeats too; then the loops stop, heartbeats last. While it is started, the node
// is in the store's list of nodes, and hears what others tell.
//
// Threads: start() and stop() by one at a time; all else from any thread at once.
class Engine {
 public:
  // All references must outlive the engine. `owner` names this start of the node: QueueStore::new_worker_id().
  Engine(Store& store, const Clock& clock, Random& random, const std::string& owner, const Logger& log,
         const EngineOptions& options = {});
  ~Engine();

  // Before start().
  void set_listeners(EngineListeners listeners) { listeners_ = std::move(listeners); }

  void start();

  // Blocks for the grace time and the store calls that are under way at most. True if nothing was left behind; what is
  // left comes back when its lease expires. May be called twice.
  bool stop(Duration grace);

  // Somebody at this node made tasks ready in these queues or in unknown ones, or scheduled some for later, or
  // cancelled some that may run here or elsewhere. Other nodes are told.
  void on_ready(const std::vector<std::string>& queues);
  void on_ready_anywhere();
  void on_scheduled() { wakers_.promoter.wake(); }
  void on_cancelled();

  // A queue was paused or the scheduler was stopped or started: chores go back or come, here and elsewhere.
  void on_control();

  // For those who read events at other nodes; nothing happens if there are none. See Herald::hint(), hints_lost().
  void hint(std::string text) { herald_.hint(std::move(text)); }
  void hints_lost() { herald_.hints_lost(); }

  // What other nodes should know of this one; the next look, which tells them, comes at once.
  void set_address(std::string address);
  void set_wants_hints(bool wants_hints);

  // True if other nodes can be there, and what they tell does not arrive.
  bool is_deaf() const { return bulletin_ && !bulletin_->can_hear(); }

  Claimer& claimer() { return claimer_; }
  DispatcherStatus status() const { return dispatcher_.status(); }

 private:
  struct Wakers {
    Waker heartbeats, exchange, dispatching, elevator, sleepers, upkeep, claimer, monitor, promoter, lookout, herald;
    Waker drained;  // of stop()
  };

  DispatcherSignals signals();
  LookoutSignals lookout_signals();

  // What other nodes said; nothing if some of it may have been lost.
  void hear(std::optional<std::string_view> message);
  void apply(const HeraldMessage& message);
  void leave();

  ClusterStore& cluster_;
  const Clock& clock_;
  const std::string owner_;
  Logger log_;
  UuidSource ids_;
  Wakers wakers_;
  SleepExecutor sleeps_;
  Executors executors_;
  Claimer claimer_;
  Upkeep upkeep_;
  Dispatcher dispatcher_;
  Promoter promoter_;
  Monitor monitor_;
  Herald herald_;
  Lookout lookout_;
  Runner runner_;
  EngineListeners listeners_;
  std::unique_ptr<Bulletin> bulletin_;  // while started, if the store has one
  bool is_started_ = false;
};

}  // namespace horae
