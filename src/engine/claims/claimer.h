// Claims tasks for all waiting workers of a node in one transaction.
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
  Duration poll = std::chrono::seconds(1);   // for what other nodes made ready, unless a ClusterPoller wakes the loop
  Duration retry = std::chrono::seconds(1);  // after the store has failed; sooner if short leases may be held
};

// The most that an outage may leave to be looked up or released. Beyond it, the oldest are left to expire.
inline constexpr std::size_t kMaxUncertainClaims = 1'000;
inline constexpr std::size_t kMaxUnreleasedTasks = 10'000;

// Claims whose answer was lost are looked up one by one. Bounds a pass, so that waiting workers are answered in time.
inline constexpr std::size_t kMaxLookUpsInAPass = 100;

// Settlements that release tasks which their owner never started: that costs no try.
std::vector<Settlement> releases_of(const std::string& owner, const std::vector<LeasedTask>& tasks);

// The store locks each token of a wish with `once` for the time of a claim. Bounds the locks of one claim.
inline constexpr std::size_t kMaxOnceInAClaim = 100;

// A worker waits with a wish and is called when there are tasks, or at its deadline. The wishes of all waiting workers
// are one call of the store; each worker is the owner of the tasks that its wish got.
//
// The token of a wish with `once` was made by the worker, which repeats the wish, here or at another node, when it got
// no answer. It then gets what the token holds, perhaps long before this node notices that the connection is gone. So
// this node never releases what such a token holds; if the worker does not come, the leases expire. While such a wish
// waits, it is claimed again within a third of its lease, because another node may have got tasks under the token. Once
// the token has served its claim, the wait ends.
//
// run_once() from one thread at a time; everything else is thread-safe. Callbacks run on the thread of run_once(), with
// no lock held, and may call back.
class Claimer final : public Loop {
 public:
  // Tasks, or an empty list at the deadline, or an error. Returns false if the worker is gone: its tasks are then
  // released at once, unless the wish has `once`.
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
    kMayHoldTasks,  // it was waiting; the answer to its last claim was lost, or its token may hold tasks already
    kIsUnderWay,    // its claim is under way, or over: if not, it is called, and must return false
  };
  Forgotten forget(Ticket ticket);

  // Tasks have become ready in these queues.
  void on_ready(const std::vector<std::string>& queues);

  // Tasks may have become ready in any queue.
  void on_ready_anywhere();

  std::size_t waiting() const;

  // The queues of all waiting wishes, and of wishes that came since the last call; kMaxQueues at most.
  std::vector<std::string> take_awaited();

  // Before the node stops: from now on nothing is claimed, waiting workers are answered, and what a claim without an
  // answer may hold is looked up and released, as long as the loop is driven. Cannot be undone.
  void drain();

  // True if no worker waits, no claim is under way, and nothing is left to be released.
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
    bool is_fresh = true;       // it was not checked yet whether its token has served
    std::optional<MonotonicTime> next_claim = {};  // at the latest
  };
  using Waitings = std::map<Ticket, Waiting>;  // in the order of arrival

  // The steps of run_once(). After a call that found the store away, no step calls it again: each may take long to
  // fail.
  void look_up_leftovers();
  Waitings take_due(MonotonicTime now);
  void find_lost_answers(Waitings& due);
  void claim(Waitings& due);
  void end_waits_of_served_tokens(Waitings& due, MonotonicTime now);
  void wait_on_or_give_up(Waitings& due, MonotonicTime now);
  bool wait_on(Waitings::node_type& each, MonotonicTime now);
  void release_leftovers();
  bool is_draining() const;
  Duration retry_in() const;
  MonotonicTime next_run(MonotonicTime now);

  void deliver(Waiting& waiting, std::vector<LeasedTask> tasks);
  bool may_look_up() const { return !is_away_ && look_ups_ < kMaxLookUpsInAPass; }
  std::optional<std::vector<LeasedTask>> look_up(const ClaimWish& wish);  // nothing if the store failed
  void note_failure(const Error& error);
  void bound_leftovers();

  TaskStore& tasks_;
  Logger log_;
  const std::function<void()> wake_;
  const ClaimerOptions options_;

  mutable std::mutex mutex_;
  Waitings waiting_;                  // guarded by mutex_
  Ticket next_ticket_ = 1;            // guarded by mutex_
  bool is_draining_ = false;          // guarded by mutex_
  bool has_leftovers_ = false;        // guarded by mutex_; uncertain_ or unreleased_, after the last pass
  std::set<std::string> new_queues_;  // guarded by mutex_; of wishes since take_awaited()

  // Wake-ups that came while run_once() had taken wishes out of waiting_. Guarded by mutex_.
  bool is_under_way_ = false;
  std::set<std::string> ready_meanwhile_;
  bool ready_anywhere_meanwhile_ = false;

  // Used by run_once() only.
  MonotonicTime next_poll_;
  std::deque<ClaimWish> uncertain_;    // of workers that are gone: what their tokens hold has to be released
  std::deque<Settlement> unreleased_;  // releases that have failed so far
  bool has_dropped_ = false;           // from one of these two, since both were empty
  Duration shortest_ = kMaxLease;      // lease that one of them holds or held, since both were empty

  // Of one pass.
  bool has_failed_ = false;   // a call of the store
  bool is_away_ = false;      // the store
  std::size_t look_ups_ = 0;  // claims that were looked up

  const std::unique_ptr<Probe> waiting_probe_;  // last, because it reads the other members
};

}  // namespace horae
