// All loops of a node, wired together and driven by threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/meter.h"
#include "base/random.h"
#include "base/uuid.h"
#include "base/waker.h"
#include "engine/claims/claimer.h"
#include "engine/cluster/cluster_poller.h"
#include "engine/cluster/notifier.h"
#include "engine/lifecycle/monitor.h"
#include "engine/lifecycle/promoter.h"
#include "engine/lifecycle/upkeep.h"
#include "engine/runner.h"
#include "engine/schedules/schedule_loop.h"
#include "engine/slots/dispatcher.h"
#include "engine/slots/executors.h"
#include "engine/slots/sleep_executor.h"
#include "engine/wake_ups.h"
#include "store/change.h"
#include "store/combiner.h"
#include "store/store.h"

namespace horae {

// How often a loop polls that a ClusterPoller wakes: only a defect in the wake-ups makes such a poll find anything.
inline constexpr Duration kSafetyNet = std::chrono::minutes(1);

struct EngineOptions {
  PromoterOptions promoter = {.poll = kSafetyNet};
  ScheduleLoopOptions schedules = {.poll = kSafetyNet};
  MonitorOptions monitor = {.idle_poll = kSafetyNet};
  ClaimerOptions claimer = {.poll = kSafetyNet};
  DispatcherOptions dispatcher;
  ClusterPollerOptions poller;
  NotifierOptions notifier;
  Duration upkeep_interval = std::chrono::minutes(10);
};

// Receives what other nodes did. Called on threads of the engine; must return soon.
struct EngineListeners {
  std::function<void(const Tick&)> ticked = [](const Tick&) {};

  // Events of another node; `lost` if some are missing. Both may be so at once.
  std::function<void(const std::vector<std::string>& events, bool lost)> received = [](const auto&, bool) {};
};

// Order of start: heartbeats first, then the loops that end and start runs, then those that bring new work. Order of
// stop: no new work is taken; chores are released and runs are asked to stop; until they have ended and the store knows
// it, or the grace time is over, everything goes on, heartbeats too; then the loops stop, heartbeats last. While it is
// started, the node is in the store's list of nodes and receives the messages of other nodes.
//
// It observes the store that its own loops and the API use: a change wakes the loops with work at this node and, by a
// message, those of the other nodes.
//
// start() and stop() from one thread; everything else is thread-safe.
class Engine final : public ChangeObserver {
 public:
  // All references must outlive the engine; the combiner, through which workers and the node's own slots
  // settle and claim, is started before start(), and stopped before the engine is destroyed. `owner` names this start of the node: QueueStore::new_worker_id(). What
  // changes in `store` must be reported to on_changes().
  Engine(Store& store, Combiner& combiner, const Clock& clock, Random& random, const std::string& owner,
         const Logger& log, const EngineOptions& options = {}, Meter& meter = no_meter());
  ~Engine() override;

  // Before start().
  void set_listeners(EngineListeners listeners) { listeners_ = std::move(listeners); }

  void start();

  // Blocks for the grace time and the store calls that are under way at most. True if nothing was left behind; what is
  // left comes back when its lease expires. May be called twice.
  bool stop(Duration grace);

  void on_changes(std::span<const Change> changes) override;

  // For readers of events at other nodes; does nothing while there are none. See Notifier.
  void send_event(std::string text) { notifier_.send_event(std::move(text)); }
  void send_event_loss() { notifier_.send_event_loss(); }

  // What this node announces to the others; the next poll, which announces it, comes at once.
  void set_address(std::string address);
  void set_wants_events(bool wants_events);

  // True if there can be other nodes, and their messages do not arrive.
  bool is_deaf() const { return bulletin_ && !bulletin_->can_hear(); }

  Claimer& claimer() { return claimer_; }
  DispatcherStatus status() const { return dispatcher_.status(); }

 private:
  struct Wakers {
    Waker heartbeats, settling, dispatching, elevator, sleepers, upkeep, claimer, monitor, promoter, schedules, poller,
        notifier;
    Waker drained;  // of stop()
  };

  DispatcherSignals signals();
  ClusterPollerSignals poller_signals();

  // Wakes loops of this node only.
  void wake(const WakeUps& wake_ups);

  // A message of some node; nothing if messages may have been lost.
  void receive(std::optional<std::string_view> message);
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
  ScheduleLoop schedules_;
  Monitor monitor_;
  Notifier notifier_;
  ClusterPoller poller_;
  Runner runner_;
  EngineListeners listeners_;
  std::unique_ptr<Bulletin> bulletin_;  // while started, if the store has one
  bool is_started_ = false;
};

}  // namespace horae
