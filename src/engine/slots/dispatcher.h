// SHIELD's scheduler: the node's own slots, and the chores that wait for one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/meter.h"
#include "base/random.h"
#include "base/uuid.h"
#include "engine/claims/claimer.h"
#include "engine/loop.h"
#include "engine/slots/exchange.h"
#include "engine/slots/executor.h"
#include "engine/slots/run_times.h"
#include "model/elevator_queue.h"
#include "store/queue_store.h"
#include "store/task_store.h"

namespace horae {

struct DispatcherOptions {
  std::vector<std::string> queues = {"tms", "demo"};  // claims from these; none if there are no slots
  std::size_t slots = 8;
  std::size_t ahead = 8;                                 // chores that may wait beyond the free slots, at most
  Duration ahead_time = std::chrono::milliseconds(200);  // and only those that are expected to start within this time
  Duration give_back = std::chrono::seconds(1);          // what has waited so long is released
  Duration lease = kDefaultLease;
  Duration dispatch_interval = std::chrono::milliseconds(50);  // SHIELD's hyper loop
  Duration elevator_interval = std::chrono::seconds(1);        // SHIELD's fast loop
  Duration poll = std::chrono::seconds(1);  // for queues that other nodes paused, and before a failed call is retried
};

// A chore in the backlog, and a slot.
struct BacklogEntry {
  ChorePosition position;
  TaskId task;
  std::string queue;
  int attempt = 0;
  MonotonicTime since;  // when it began to wait
};
struct SlotEntry {
  struct Run {
    TaskId task;
    std::string queue;
    int attempt = 0;
    MonotonicTime since;  // when it began to run
  };
  bool is_internal = false;  // for upkeep of the node itself
  std::optional<Run> run;    // nothing while idle
};
struct DispatcherStatus {
  bool is_draining = false;
  bool is_waiting = false;            // at the claimer, for tasks
  std::vector<BacklogEntry> backlog;  // in the order in which they would start
  std::vector<SlotEntry> slots;
};

// What the dispatcher wakes. Called on any thread, with no lock held.
struct DispatcherSignals {
  std::function<void()> dispatch;    // has dispatching() run soon
  std::function<void()> settling;    // has settling() run soon
  std::function<void()> heartbeats;  // has heartbeats() run soon
  std::function<void()> drained;     // after drain(): nothing is held any more
};

// A chore is a task that is leased to this node and waits for a slot: in levels (255 - priority), first in first out
// inside a level. Heartbeats extend its lease while it waits and while it runs, and the end of its run is kept until
// the store has accepted it. Chores of paused queues are released, and all chores when the scheduler or the node stops.
//
// Another node cannot run what waits here, so little does. A slot that is free gets its next task in the commit that
// settles its last one. Beyond the free slots, only as many tasks are claimed as are expected to start soon, by the run
// times seen: none while runs are long. A chore that has waited for too long is released, and then nothing is claimed
// beyond the free slots until a run has ended.
//
// Internal tasks (upkeep of the node itself) take the same way with a slot of their own, so that neither kind delays
// the other.
//
// Four loops do the work, so that a store that hangs in one of them does not stop the others:
//   dispatching()  chores into free slots: memory only
//   elevator()     lifts the levels: memory only
//   heartbeats()   for all held tasks; stops those that were cancelled or lost
//   settling()     ended and released attempts to the store, together with a claim for the slots that are free; while
//                  nothing is ready, a wish for tasks waits at the claimer
//
// The loops may run in parallel, each from one thread at a time; everything else is thread-safe. What answers the calls
// of Parts::exchange, such as a combiner, must have stopped before the dispatcher is destroyed.
// A crash loses nothing: the leases expire. No slot is taken twice.
class Dispatcher {
 public:
  // All references must outlive the dispatcher. `owner` is new for each start of a node.
  struct Parts {
    TaskStore& tasks;
    Exchange exchange;
    QueueStore& queues;
    Claimer& claimer;
    Executor& executor;  // of the node's own slots
    Executor& upkeep;    // of internal tasks
    UuidSource& ids;
    Random& random;
    Meter& meter = no_meter();
  };
  Dispatcher(Parts parts, std::string owner, Logger log, DispatcherSignals signals, DispatcherOptions options = {});
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  Loop& dispatching() { return *dispatching_; }
  Loop& elevator() { return *elevator_; }
  Loop& heartbeats() { return *heartbeats_; }
  Loop& settling() { return *settling_; }

  // An internal task that runs under a lease of `owner` becomes a chore.
  void add_internal(LeasedTask task);

  // A queue was paused, or the scheduler stopped: settling() checks at once which chores to release.
  void on_closed();

  // Before the node stops: from now on nothing is claimed, waiting chores are released, runs are stopped, and their
  // ends are sent to the store, as long as the loops are driven. The claimer, which may have a wish of the dispatcher,
  // has to be drained as well. Cannot be undone.
  void drain(MonotonicTime now);

  // True if nothing is held and no claim is under way.
  bool is_empty() const;

  const std::string& owner() const { return owner_; }
  DispatcherStatus status() const;

 private:
  class Step;  // a loop that calls one member function

  struct Chore {
    ChoreId id = 0;
    std::shared_ptr<const LeasedTask> task;
    MonotonicTime since;
  };
  struct Slot {
    std::optional<Chore> chore;
  };
  struct Lane {
    Executor& executor;
    ElevatorQueue<Chore> chores;
    std::vector<Slot> slots;
  };

  // A leased task, from the claim until the store has accepted its end.
  struct Held {
    enum class Phase { kWaiting, kRunning, kLeaving };
    Phase phase = Phase::kWaiting;
    Lane* lane = nullptr;
    std::shared_ptr<const LeasedTask> task;
    MonotonicTime confirmed;  // when the lease was known to hold
    bool is_started = false;  // the executor has it
    bool is_stopping = false;
    bool is_lost = false;  // cancelled, or another owner's: the end of its run does not matter
  };
  struct Outgoing {
    ChoreId chore = 0;
    Settlement settlement;
  };
  struct Running {
    ChoreId chore = 0;
    Executor* executor = nullptr;
  };

  // The steps of the loops.
  MonotonicTime dispatch_once(MonotonicTime now);
  MonotonicTime elevate_once(MonotonicTime now);
  MonotonicTime beat_once(MonotonicTime now);
  MonotonicTime settle_once(MonotonicTime now);

  void fill(Lane& lane, MonotonicTime now);
  std::optional<Chore> book_slot(Lane& lane, MonotonicTime now);
  void start(Lane& lane, const Chore& chore, MonotonicTime now);
  void on_end(ChoreId chore, RunEnd end);

  void on_verdict(ChoreId chore, const Settlement& beat, const SettleOutcome& outcome, MonotonicTime now);
  void stop(const std::vector<Running>& runs, MonotonicTime now);

  void release_chores_of_closed_queues(MonotonicTime now);
  void give_back(MonotonicTime now);
  void find_lost_claim();
  void exchange();
  void on_answer(const std::vector<Outgoing>& sent, const std::optional<ClaimWish>& wish, Exchanged answer);
  void log_settled(const std::vector<Outgoing>& sent, const std::vector<Result<SettleOutcome>>& outcomes);
  void wait_for_tasks(MonotonicTime now);
  bool take(Result<std::vector<LeasedTask>> tasks);

  // With mutex_ held.
  void set_now(MonotonicTime now);
  void push(Lane& lane, LeasedTask task);
  void push_all(std::vector<LeasedTask> tasks);
  std::size_t forget_settled(const std::vector<Outgoing>& sent, const std::vector<Result<SettleOutcome>>& outcomes);
  std::optional<ClaimWish> next_wish();
  bool holds_nothing() const;
  MonotonicTime next_settling(MonotonicTime now) const;
  void leave(ChoreId chore, Settlement settlement);
  void let_go(Lane& lane, const Chore& chore);
  void free_slot(Lane& lane, ChoreId chore);
  std::optional<Running> begin_stop(ChoreId chore, Held& held);
  std::size_t room() const;
  std::size_t room_ahead() const;
  static std::size_t busy_slots(const Lane& lane);

  Settlement settlement(Event event, const LeasedTask& task) const;
  Settlement settlement(const LeasedTask& task, RunEnd end);

  void publish(Meter& meter);

  TaskStore& tasks_;
  const Exchange exchange_;
  QueueStore& queues_;
  Claimer& claimer_;
  UuidSource& ids_;
  Random& random_;
  const std::string owner_;
  Logger log_;
  const DispatcherSignals signals_;
  const DispatcherOptions options_;
  const std::unique_ptr<Loop> dispatching_;
  const std::unique_ptr<Loop> elevator_;
  const std::unique_ptr<Loop> heartbeats_;
  const std::unique_ptr<Loop> settling_;

  mutable std::mutex mutex_;
  Lane own_;                          // guarded by mutex_
  Lane internal_;                     // guarded by mutex_
  std::map<ChoreId, Held> held_;      // guarded by mutex_
  std::vector<Outgoing> outgoing_;    // guarded by mutex_
  ChoreId last_chore_ = 0;            // guarded by mutex_
  MonotonicTime last_now_;            // guarded by mutex_; the newest `now` of a loop
  bool has_wish_ = false;             // guarded by mutex_; the claimer has a wish of the dispatcher
  bool is_exchanging_ = false;        // guarded by mutex_; an exchange is not answered yet
  std::optional<Uuid> lost_claim_;    // guarded by mutex_; the token of a claim whose outcome is unknown
  bool is_filling_ = false;           // guarded by mutex_; dispatching() fills the slots
  bool has_ended_meanwhile_ = false;  // guarded by mutex_; a run has ended while it did
  RunTimes run_times_;                // guarded by mutex_
  bool is_full_ = false;              // guarded by mutex_; chores were given back, and no run has ended since
  std::vector<MonotonicTime>
      ended_;                 // guarded by mutex_; when runs began that have ended since the last pass of a loop
  MonotonicTime next_check_;  // guarded by mutex_; for paused queues
  bool is_draining_ = false;  // guarded by mutex_

  std::vector<std::unique_ptr<Probe>> probes_;  // last, because they read the other members
};

}  // namespace horae
