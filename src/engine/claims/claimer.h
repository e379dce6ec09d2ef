// Tasks for all waiting workers of a node, in one transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/meter.h"
#include "engine/loop.h"
#include "store/task_store.h"

namespace horae {

struct ClaimerOptions {
  Duration poll =
      std::chrono::seconds(1);  // how soon it notices what other nodes made ready, unless a ClusterPoller does
  Duration retry = std::chrono::seconds(1);  // after the store has failed
};

// What an outage may leave to be looked up or released. Beyond, the oldest are left to expire, as all leases do.
inline constexpr std::size_t kMaxUncertainClaims = 1'000;
inline constexpr std::size_t kMaxUnreleasedTasks = 10'000;

// Claims whose answer was lost are looked up one by one: so many in one pass, so that those who wait hear in time.
inline constexpr std::size_t kMaxLooksInAPass = 100;

// What gives back tasks that their owner never started: that costs no try.
std::vector<Settlement> releases_of(const std::string& owner, const std::vector<LeasedTask>& tasks);

// The store locks each token that serves once for the time of a claim: so many in one claim.
inline constexpr std::size_t kMaxOnceInAClaim = 100;

// A worker says what it would like and is called when there is something, or when its time is over. Its wish goes into
// the next claim, together with those of all others that wait; each is leased in its own name.
//
// A wish with `once` has a token that the worker made: it repeats it, here or at another node, when it got no answer,
// and gets what the token holds, perhaps long before this node knows that it is gone. So that is never taken from it;
// if it does not come, its lease expires. While such a wish waits it is asked for again within a third of its lease,
// because another node may get something under the token. Once the token has served its claim, it waits no longer.
//
// Threads: run_once() one at a time; all else from any thread at once. Callbacks run on the thread of run_once(),
// without a lock of ours; they may call back.
class Claimer final : public Loop {
 public:
  // Tasks, or an empty list when the time is over; or why there are none. False if the worker is gone: then what it
  // was given is released at once, unless the wish is one with `once`.
  using Deliver = std::function<bool(Result<std::vector<LeasedTask>>)>;
  using Ticket = std::uint64_t;

  // The store must outlive the loop. `wake` has run_once() called soon.
  Claimer(TaskStore& tasks, Logger log, std::function<void()> wake, ClaimerOptions options = {},
          Meter& meter = no_meter())
      : tasks_(tasks),
        log_(std::move(log)),
        wake_(std::move(wake)),
        options_(options),
        waiting_probe_(meter.probe({"horae_waiting_workers", "Long polls that wait for tasks"},
                                   [this] { return static_cast<double>(waiting()); })) {}

  // Waits for tasks until `deadline` at most. The wish must pass check_claim_wish().
  Ticket wait(ClaimWish wish, MonotonicTime deadline, Deliver deliver);

  // The worker is gone. If it was waiting, it is not called any more.
  enum class Forgotten {
    kHeldNothing,   // it was waiting
    kMayHoldTasks,  // it was waiting, and the answer to its last claim was lost, or it was to be asked for first
    kIsUnderWay,    // its claim, if not over: then it is called, and says that it is gone
  };
  Forgotten forget(Ticket ticket);

  // Tasks have become ready in these queues.
  void on_ready(const std::vector<std::string>& queues);

  // Tasks may have become ready anywhere: the scheduler was started, a queue resumed.
  void on_ready_anywhere();

  std::size_t waiting() const;

  // The queues that somebody waits for, or has asked for since the last call. Those beyond kMaxQueues are left out.
  std::vector<std::string> take_awaited();

  // The node is about to stop: nothing is claimed any more, those who wait are answered, and what a claim without an
  // answer may hold is found and released, as long as the loop is driven. There is no way back.
  void drain();

  // True if nobody waits, no claim is under way, and nothing is left to be released.
  bool is_empty() const;

  std::string_view name() const override { return "claimer"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  struct Waiting {
    ClaimWish wish;
    MonotonicTime deadline;
    Deliver deliver;
    bool is_due = true;         // something may be ready for it
    bool is_uncertain = false;  // the answer to its last claim was lost, or it repeats one: it may hold tasks already
    bool is_fresh = true;       // nobody has looked yet whether its token has served
    std::optional<MonotonicTime> ask_again = {};  // at the latest
  };
  using Waitings = std::map<Ticket, Waiting>;  // who came first is served first

  // The steps of run_once(). Once the store is away, none of them asks it again: each call may take long to fail.
  void look_for_leftovers();
  Waitings take_due(MonotonicTime now);
  void find_lost_answers(Waitings& due);
  void claim(Waitings& due);
  void end_waits_in_vain(Waitings& due, MonotonicTime now);
  void wait_on_or_give_up(Waitings& due, MonotonicTime now);
  bool wait_on(Waitings::node_type& each, MonotonicTime now);
  void release_leftovers();
  bool is_draining() const;
  MonotonicTime next_run(MonotonicTime now);

  void deliver(Waiting& waiting, std::vector<LeasedTask> tasks);
  bool may_look() const { return !is_away_ && looks_ < kMaxLooksInAPass; }
  std::optional<std::vector<LeasedTask>> look(const ClaimWish& wish);  // nothing if the store does not say
  void note_failure(const Error& error);
  void bound_leftovers();

  TaskStore& tasks_;
  Logger log_;
  const std::function<void()> wake_;
  const ClaimerOptions options_;

  mutable std::mutex mutex_;
  Waitings waiting_;             // guarded by mutex_
  Ticket next_ticket_ = 1;       // guarded by mutex_
  bool is_draining_ = false;     // guarded by mutex_
  bool has_leftovers_ = false;   // guarded by mutex_; uncertain_ or unreleased_, after the last pass
  std::set<std::string> asked_;  // guarded by mutex_; queues, since take_awaited(): some are served at once

  // What is told while run_once() has taken some out of waiting_, because they have not heard it. Guarded by mutex_.
  bool is_under_way_ = false;
  std::set<std::string> ready_meanwhile_;
  bool ready_anywhere_meanwhile_ = false;

  // Used by run_once() only.
  MonotonicTime next_poll_;
  std::deque<ClaimWish> uncertain_;    // of workers that gave up: what their tokens hold has to be released
  std::deque<Settlement> unreleased_;  // what the store could not take back yet
  bool has_dropped_ = false;           // some of these two, since both were empty

  // Of one pass.
  bool has_failed_ = false;  // the store, in whatever way
  bool is_away_ = false;     // the store
  std::size_t looks_ = 0;    // how many claims were looked up

  const std::unique_ptr<Probe> waiting_probe_;  // last, because it reads the other members
};

}  // namespace horae
