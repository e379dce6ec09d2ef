// A simulated node: the production loops on a store with faults, and the calls for workers and clients.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/claims/claimer.h"
#include "engine/cluster/cluster_poller.h"
#include "engine/lifecycle/monitor.h"
#include "engine/lifecycle/promoter.h"
#include "engine/lifecycle/upkeep.h"
#include "engine/slots/dispatcher.h"
#include "engine/slots/executors.h"
#include "engine/slots/sleep_executor.h"
#include "engine/wake_ups.h"
#include "observe/observed_store.h"
#include "tests/sim/faulty_store.h"

namespace horae::sim {

// The node's own clock, which drifts and may be stepped. It is used for pacing only, so correctness must not depend on it.
class NodeClock {
 public:
  NodeClock(const Events& events, double drift) : events_(events), drift_(drift) {}

  MonotonicTime now() const;
  Instant when(MonotonicTime own) const;  // the world's time at which this clock will reach `own`
  void step(Duration by) { step_ += by; }

 private:
  const Events& events_;
  const double drift_;
  Duration step_{};
};

// One run of a node, from start to end. Calls in progress hold a reference to it, so that their stacks can be unwound.
class NodeLife;

class Node {
 public:
  Node(World& world, int index);
  ~Node();

  int index() const { return index_; }
  bool is_up() const { return life_ != nullptr; }
  Instant paused_until() const { return paused_until_; }

  void start();
  void crash();
  void drain(Duration grace);  // stops orderly, and starts again
  void pause(Duration time);
  void cut_off(Duration time);  // from the store
  void step_clock(Duration by) { clock_.step(by); }

  // Handles a request. False if the node is down or draining.
  bool serve(const std::function<void(NodeLife&)>& request);

 private:
  friend class NodeLife;

  void end_life(Duration until_restart);
  void check_drained(const std::shared_ptr<NodeLife>& life, Instant deadline);

  World& world_;
  const int index_;
  NodeClock clock_;
  Instant paused_until_;
  Instant cut_off_until_;
  std::shared_ptr<NodeLife> life_;
};

// The calls of a node, with the errors that a client would get. Each member may throw Crash, and so may the rounds of the
// combiner, through which calls and the answers to them go.
class NodeLife final : public StoreLink::Caller, private ChangeObserver, public std::enable_shared_from_this<NodeLife> {
 public:
  NodeLife(Node& node, std::string owner);

  void begin();  // the loops begin to run

  // Answers like Network::Reply: false if the node notices that the connection is closed.
  template <typename Answer>
  using Reply = std::function<bool(Result<Answer>)>;

  void submit(const Submission& submission, const Reply<SubmitOutcome>& reply);
  void settle(const Settlement& settlement, const Reply<SettleOutcome>& reply);
  void cancel(const CancelWish& wish, const Reply<CancelOutcome>& reply);

  // Settles, and claims if there is a wish, in one call and without a wait; kUnavailable if any of it failed.
  void exchange(const Settlement& settlement, std::optional<ClaimWish> wish, const Reply<Claimer::Answer>& reply);

  Result<QueueSettings> configure(const std::string& queue, const QueueChange& change);
  Result<bool> set_scheduler_running(bool running);
  Result<std::string> new_worker_id() { return queues_.new_worker_id(); }

  // Calls `deliver` when there are tasks, or after `patience`.
  void wait_for_tasks(ClaimWish wish, Duration patience, Claimer::Deliver deliver);

  int index() const { return node_.index_; }

  bool is_dead() const override { return is_dead_; }
  bool is_cut_off() const override;
  Instant paused_until() const override { return node_.paused_until_; }
  void die() override;

 private:
  friend class Node;

  // A loop and when it runs next.
  struct Driven {
    Loop* loop = nullptr;
    bool is_running = false;
    bool is_woken = false;
    std::uint64_t plan = 0;  // only the newest is executed
  };
  // In the order of Engine.
  enum Part : std::size_t {
    kHeartbeats,
    kSettling,
    kSleepers,
    kUpkeep,
    kDispatching,
    kElevator,
    kCombiner,
    kClaimer,
    kMonitor,
    kPromoter,
    kPoller,
    kParts
  };

  // Records the runs in the node's own slots.
  class WatchedExecutor;

  // The rounds of the combiner, as a loop.
  class Rounds final : public Loop {
   public:
    explicit Rounds(Combiner& combiner) : combiner_(combiner) {}
    std::string_view name() const override { return "combiner"; }
    MonotonicTime run_once(MonotonicTime now) override {
      return combiner_.run_round() ? now : now + std::chrono::hours(1);
    }

   private:
    Combiner& combiner_;
  };

  void plan_run(Part part, Instant when);
  void run(Part part);
  void wake(Part part);
  void on_changes(std::span<const Change> changes) override;
  DispatcherSignals signals();
  ClusterPollerSignals poller_signals();
  DispatcherOptions dispatcher_options() const;
  std::vector<UpkeepJob> jobs();

  Node& node_;
  World& world_;
  bool is_dead_ = false;
  bool is_draining_ = false;
  StoreLink link_;
  FaultyTasks faulty_tasks_;
  FaultyQueues faulty_queues_;
  ObservedTasks tasks_;
  ObservedQueues queues_;
  FaultyCluster cluster_;
  SleepExecutor sleeps_;
  Executors executors_;
  std::unique_ptr<Executor> watched_;
  Combiner combiner_;
  Rounds rounds_{combiner_};
  Claimer claimer_;
  Upkeep upkeep_;
  Dispatcher dispatcher_;
  Promoter promoter_;
  Monitor monitor_;
  ClusterPoller poller_;
  std::vector<Driven> loops_;
};

}  // namespace horae::sim
