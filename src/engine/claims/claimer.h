// The calls of workers: it settles, claims and lets wait, for all workers of a node and for the node's own slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/meter.h"
#include "engine/claims/attention.h"
#include "engine/claims/leftovers.h"
#include "engine/claims/permits.h"
#include "engine/loop.h"
#include "engine/wake_ups.h"
#include "store/combiner.h"
#include "store/task_store.h"

namespace horae {

struct ClaimerOptions {
  Duration poll = std::chrono::seconds(1);   // for what other nodes made ready, unless a ClusterPoller wakes the loop
  Duration retry = std::chrono::seconds(1);  // after the store has failed; sooner if short leases may be held
  Duration check = std::chrono::seconds(1);  // between two looks whether tokens have served; sooner for short leases
};

// Claims whose answer was lost are looked up one by one. Bounds a pass, so that waiting workers are answered in time.
inline constexpr std::size_t kMaxLookUpsInAPass = 100;

// One registry of all that wait. A claim that waits is sent to the combiner when there may be work for it, so that it
// shares a commit with settlements, submissions and other claims. Who is next follows from Permits: n tasks that become
// ready wake as many waiting claims as they can feed, first come, first served. A wait whose queues proved empty asks
// the store nothing until something is announced; a poll stands behind the announcements.
//
// The token of a claim with `once` was made by the worker, which repeats the claim, here or at another node, when it got
// no answer. It then gets what the token holds, perhaps long before this node notices that the connection is gone. So
// this node never releases what such a token holds; if the worker does not come, the leases expire. The tokens of all
// waits are checked in one call a second: one that has served elsewhere is claimed once more, and its wait ends.
//
// After a failed claim all waits rest, and then those whose claim may have got tasks come first: without `once` they are
// looked up by their tokens, else they claim again. Calls that do not wait are sent at any time.
//
// run_once() from one thread at a time; everything else is thread-safe. Callbacks run on the thread of the combiner's
// rounds, of run_once() or of the call that caused them, with no lock held; they must return soon, and may call back.
class Claimer : public Loop {
 public:
  struct Answer {
    std::vector<Result<SettleOutcome>> settled;  // one for each settlement, in order
    Result<std::vector<LeasedTask>> tasks = std::vector<LeasedTask>();
    bool has_attention = false;  // a task of the owner was cancelled: its heartbeats know which
  };

  // What one worker wants. A claim that fails loses no settlement, and each has its own outcome.
  struct Call {
    std::string owner;
    std::vector<Settlement> settlements = {};
    std::optional<ClaimWish> claim = {};            // it passes check_claim_wish()
    std::optional<MonotonicTime> wait_until = {};   // it waits only if it settles nothing
    bool wants_attention = true;                    // false: Answer::has_attention means nothing to the caller
    std::function<bool(Answer)> deliver = nullptr;  // false if the worker is gone: tasks are released, but for `once`
    std::function<bool()> is_admitted = nullptr;    // null for the node's own calls; else see end_revoked()
  };
  using Ticket = std::uint64_t;

  // Tasks, or an empty list at the deadline, or an error. Returns false if the worker is gone.
  using Deliver = std::function<bool(Result<std::vector<LeasedTask>>)>;

  // The combiner and the store must outlive the loop, and the combiner must not be stopped before it, nor run a round
  // after it. `wake` has run_once() called soon.
  Claimer(Combiner& combiner, TaskStore& tasks, Logger log, std::function<void()> wake, ClaimerOptions options = {},
          Meter& meter = no_meter());

  // Answers exactly once, unless the ticket is forgotten before; perhaps before it returns.
  Ticket exchange(Call call);

  // Waits for tasks until `deadline` at most, for the node itself. The wish must pass check_claim_wish().
  Ticket wait(ClaimWish wish, MonotonicTime deadline, Deliver deliver);

  // The worker is gone: it is not called any more, unless its answer is under way, to which it must say false.
  void forget(Ticket ticket);

  // Answers all calls that wait, but for the node's own, and lets none wait from now on.
  void end_calls();

  // The same, once, for the calls whose is_admitted() is false now.
  void end_revoked();

  // What concerns those that wait: ready tasks, queues that give tasks again, and owners of cancelled tasks.
  void on_wake_ups(const WakeUps& wake_ups);

  // An unknown number of tasks, maybe none, became ready in these queues, or in any.
  void on_ready(const std::vector<std::string>& queues);
  void on_ready_anywhere();

  // Claims that wait and for which nothing is under way.
  std::size_t waiting() const;

  // Whether a call of the combiner, or an answer, is under way.
  bool is_busy() const;

  // The queues of all waiting claims, and of claims that came since the last call; kMaxQueues at most.
  std::vector<std::string> take_awaited();

  // Before the node stops: from now on nothing is claimed, waiting workers are answered, and what a claim without an
  // answer may hold is looked up and released, as long as the loop is driven. Cannot be undone.
  void drain();

  // True if nobody waits, nothing is under way, and nothing is left to be released.
  bool is_empty() const;

  std::string_view name() const override { return "claimer"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  struct Waiting {
    Call call;
    bool is_asking = false;      // a call of the combiner or the store is under way for it
    bool is_uncertain = false;   // the answer to its last claim was lost: it may hold tasks
    bool is_fresh = false;       // its token was neither claimed with nor checked yet: it may be a repetition
    bool is_gone = false;        // its worker, while it was asking
    bool has_attention = false;  // goes with its answer
    Permits::Grant grant = {};   // while it is asking
  };
  using Waitings = std::map<Ticket, Waiting>;  // in the order of arrival

  // What is to be done when the lock is released.
  struct Sending {
    Ticket ticket = 0;
    std::vector<Settlement> settlements;
    std::optional<ClaimWish> claim;
  };
  struct Delivery {
    Call call;
    bool is_gone = false;
    Answer answer;
  };
  struct Todo {
    std::vector<Sending> sendings;
    std::vector<Delivery> deliveries;
    bool wakes = false;
  };
  void perform(Todo todo);
  void send(Sending sending);
  void deliver(Delivery delivery);
  void finish(Ticket ticket, std::vector<Result<SettleOutcome>> settled, Result<ClaimOutcome> leased);

  // With mutex_ held.
  void ask(Ticket ticket, Todo& todo);
  void answer(Waitings::iterator each, Answer answer, Todo& todo);
  void give_up(Waitings::iterator each, Todo& todo);
  void conclude(Waitings::iterator each, std::vector<Result<SettleOutcome>> settled, Result<ClaimOutcome> leased,
                Todo& todo);
  void enter_line(Ticket ticket, const Waiting& waiting, Todo& todo);
  void leave_line(Ticket ticket, const Waiting& waiting);
  void announce(const WakeUps& wake_ups, Todo& todo);
  void call_attention(const std::string& owner, Todo& todo);
  void serve(const std::string& queue, Todo& todo);
  void serve_all(Todo& todo);
  void rest(const Error& error, Todo& todo);
  bool waits(const Waiting& waiting) const;
  Duration retry_in() const;
  Duration check_every() const;
  void note_awaited(const ClaimWish& wish);

  // The steps of run_once(). After a call that failed, no step calls the store again: each may take long to fail.
  void begin_pass(MonotonicTime now);
  void ask_again();
  void look_up_leftovers();
  void find_lost_answers();
  std::optional<std::pair<Ticket, Uuid>> take_lost();
  void note_found(Ticket ticket, std::optional<std::vector<LeasedTask>> held);
  void check_tokens(MonotonicTime now);
  void note_checked(const std::vector<Ticket>& tickets, const std::vector<bool>& have_served);
  void end_waits(MonotonicTime now);
  void end_wait(Waitings::iterator each, Todo& todo);
  void release_leftovers();
  void note_released(std::vector<Settlement> releases, const std::vector<Result<SettleOutcome>>& outcomes);
  MonotonicTime end_pass(MonotonicTime now);
  MonotonicTime next_for(const Waiting& waiting, MonotonicTime now) const;  // with mutex_ held
  std::optional<std::vector<LeasedTask>> look_up(const Uuid& token);        // nothing if the store failed
  void note_failure(const Error& error);

  Combiner& combiner_;
  TaskStore& tasks_;
  Logger log_;
  const std::function<void()> wake_;
  const ClaimerOptions options_;

  mutable std::mutex mutex_;  // guards all members from here on
  Waitings waiting_;
  std::map<std::string, std::set<Ticket>, std::less<>> lines_;   // the claims that wait and ask nothing, by queue
  std::map<std::string, std::set<Ticket>, std::less<>> owners_;  // the calls that wait, by owner
  Permits permits_;
  Attention attention_;
  Leftovers leftovers_;
  Ticket next_ticket_ = 1;
  std::set<std::string> new_queues_;  // of claims since take_awaited()
  bool is_draining_ = false;
  bool is_ending_ = false;                  // calls do not wait any more, but for the node's own
  bool is_in_pass_ = false;                 // run_once() is under way
  bool is_releasing_ = false;               // releases are under way
  std::size_t deliveries_ = 0;              // answers that are under way
  std::size_t sendings_ = 0;                // calls that are under way
  bool is_resting_ = false;                 // the store has failed
  bool is_away_ = false;                    // it has failed because it is away
  std::optional<MonotonicTime> retry_at_;   // the end of the rest; nothing until run_once() has set it
  std::optional<MonotonicTime> next_poll_;  // nothing before the first pass
  MonotonicTime next_check_;
  MonotonicTime next_pass_ = MonotonicTime::max();  // what run_once() returned last

  std::size_t look_ups_ = 0;  // of run_once() alone: of one pass

  const std::unique_ptr<Probe> waiting_probe_;  // last, because it reads the other members
};

}  // namespace horae
