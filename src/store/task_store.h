// The truth about tasks; everything else may die at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/task.h"
#include "store/bundle.h"
#include "store/lease.h"
#include "store/list.h"
#include "store/submission.h"

namespace horae {

// What a promoter did, and when to call again.
struct PromoteOutcome {
  std::size_t promoted = 0;
  std::vector<std::string> queues;  // that got ready tasks, without repetition
  std::optional<Duration> next_in;  // until the next one is due; zero if more are due now; nothing if none is scheduled
};

// The monitor's view: whether tasks are running, and when a monitor last checked.
struct Watch {
  Instant now;                   // the store's clock
  std::optional<Instant> stamp;  // when a monitor last stamped; nothing if that never happened
  bool has_leases = false;
  std::optional<Duration> next_expiry_in;  // until the first lease ends; zero if one has; nothing without leases
};

// An outage is not the worker's fault. A lease is out of sight while no monitor has stamped since it was given, renewed
// or extended. Heartbeats come every third of its length: if it has been out of sight for longer, an outage may have
// stopped the one that counts. So it is extended then, whatever its length, and others are not; neither is one that had
// ended by the last stamp, and is only left over from that pass.
struct ExpireWish {
  std::optional<Instant> seen;  // Watch::stamp of the look that led here
  Duration slack{};             // how much longer than a third of its length a lease may be out of sight
  std::size_t max = kMaxBatch;
};

struct ExpiredLease {
  TaskId id;
  std::string queue;
  std::string owner;
  int attempt = 0;
  State state = State::kReady;  // ready, or aborted if max_attempts is used up

  friend bool operator==(const ExpiredLease&, const ExpiredLease&) = default;
};

struct ExpireOutcome {
  enum class Kind {
    kDone,        // the stamp is set to now; `expired` is what was overdue, `max` at most
    kStampMoved,  // another monitor stamped since the look: look again
    kNoStamp,     // nobody has stamped yet, while leases exist: extend them first
  };
  Kind kind = Kind::kDone;
  bool extended = false;  // leases that were out of sight for too long were extended to now plus their length
  std::vector<ExpiredLease> expired;
};

struct PurgeOutcome {
  std::size_t purged = 0;
  bool more = false;  // there is more to purge now
};

// Thread-safe.
//
// Durability: what a call reports is committed and survives a crash of anything. kUnavailable means that the store is
// away or busy and that the outcome of the call is unknown: call again with the same ids and tokens, and what had
// happened is reported as present or repeated. Other errors mean that nothing was done.
//
// Batches: a call takes 1 to kMaxBatch items (an empty span is fine and does nothing) and answers each by its own
// outcome, in order. Items are taken one after the other: a later one sees what an earlier one did, also when they name
// the same task. An item that fails its check (check_submission, check_settlement, ...) makes the whole call fail with
// kRefused, and nothing is done. Nothing else may be assumed of a batch as a whole: a store need not make it visible at
// once, and after a crash or kUnavailable any of its items may have happened. Each item by itself is atomic.
//
// Time: the store's clock decides, and no call takes a time that decides something. Comparisons are strict where the
// state table says so: a lease is overdue when lease_expires < now; a task is due when run_at <= now.
class TaskStore {
 public:
  virtual ~TaskStore() = default;

  // Stores new tasks; one outcome for each. A task without run_at, or with one that is not in the future, is ready at
  // once and gets its rank; run_at is then kept as given, or is the present. A queue that is new is made, with default
  // settings. A task with a `start` is running at once, as its first attempt.
  virtual Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions) = 0;

  // Leases ready tasks; one outcome for each wish: up to `max` of them, in order of urgency, none when nothing is ready. Within a queue the order is (rank, ready second, number); of the heads of several queues the one with the
  // highest effective priority comes first, then the longer ready one, then the lower number. Paused queues give
  // nothing, and neither does any queue while the scheduler is stopped. No attempt is ever given twice. A queue that
  // does not exist is empty. With several nodes, the order holds within a second.
  //
  // The token of a wish with `once` serves one claim for good, however often the wish comes: at one node or several, in
  // one batch, and while an earlier one is still under way. The first that finds something gets it. Those that come
  // while it is at work wait for it, and they and all later ones get what is still leased under the token, by number,
  // and nothing new, whatever `max` and queues they name: that may be nothing, and it is given also from paused queues
  // and while the scheduler is stopped. A wish that finds nothing leaves no trace: a long poll repeats it with the same
  // token. A token is known for kTokenMemory after its claim, and as long as something is leased under it; then purge()
  // may forget it. Do not use one token both with `once` and without. A token is of the owner that it has served: while
  // something is leased under it, a wish of another owner is refused (kOtherOwner) and gets nothing.
  virtual Result<std::vector<ClaimOutcome>> claim(std::span<const ClaimWish> wishes) = 0;

  // The tasks that are still leased under a claim's token: what became of a claim that was answered by kUnavailable. In
  // the order of their numbers. A task that was settled or expired since is not among them.
  virtual Result<std::vector<LeasedTask>> leases_of(const Uuid& token) = 0;

  // Which of these tokens have served a claim with `once`, and are known: one answer for each, in order. A caller
  // that waits with such a token gets nothing new: one more claim returns all there is.
  virtual Result<std::vector<bool>> have_served(std::span<const Uuid> tokens) = 0;

  // Heartbeats, completions, aborts, yields and releases; one outcome for each, by the rules of judge(). An accepted one
  // changes what effect_of() says (model/effect.h):
  //   kHeartbeat  lease_expires = now + lease
  //   kComplete   of a recurring task: the next turn is due at now + recurring; progress 0, no checkpoint, tries 0; the
  //               result is kept and shown until the next one
  //   kAbort      that is retried: due after retry_delay(policy, tries + 1, max_attempts, chance); progress 0,
  //               checkpoint kept; its errors are kept in the history (TaskRetry); at the end of a recurrence or of the
  //               tries: aborted, with its errors
  //   kYield      the progress given with it, or else the last one, is kept in the history
  //   kRelease    the assignment is removed from the history
  // A complete or abort that is refused (kStaleAttempt, kCancelled, kWrongState) is kept in the history as
  // TaskLateResult, once for each attempt and owner, if an attempt with this number has begun.
  virtual Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements) = 0;

  // settle(), submit() and claim(), in this order: a claim sees what the first two did. A store that can does it in one
  // commit, which all of them wait for; else it makes three calls. kUnavailable means that the outcome is unknown for
  // all items; after any other error nothing was done.
  virtual Result<BundleOutcome> exchange(const Bundle& calls);

  // Cancels scheduled, ready and running tasks for good.
  virtual Result<std::vector<CancelOutcome>> cancel(std::span<const CancelWish> wishes) = 0;

  // Makes up to `max` due tasks ready, earliest first. They get their rank now.
  virtual Result<PromoteOutcome> promote_due(std::size_t max) = 0;

  // Read-only.
  virtual Result<Watch> look() = 0;

  // Extends every lease to now plus its length and stamps, if the stamp is still `seen`. False if it is not. For the
  // first stamp, and for a clock that jumped; after an outage, expire_leases() does it where it has to.
  virtual Result<bool> extend_leases(const std::optional<Instant>& seen) = 0;

  // Extends the leases that were out of sight for too long (see ExpireWish), takes those that are overdue then away,
  // most overdue first, and stamps, if the stamp is still `wish.seen`. The task of an expired lease is ready again with its rank and tries + 1, or, if max_attempts is above 0 and now used up, aborted with the error
  // `attempts_exhausted`. Without leases nothing happens, also no stamp.
  virtual Result<ExpireOutcome> expire_leases(const ExpireWish& wish) = 0;

  // Removes up to `max` finished tasks whose updated_at + retention of their queue lies before now, with all that
  // belongs to them. Their ids and keys are free again. Forgets up to `max` old tokens as well, which are not counted;
  // and, once nothing is left to purge, up to `max` queues that were never configured, hold no task and were made longer
  // than kQueueMemory ago.
  virtual Result<PurgeOutcome> purge(std::size_t max) = 0;

  // One for each id, in order; nothing where there is no such task. Each is seen at one moment.
  virtual Result<std::vector<std::optional<Task>>> get(std::span<const TaskId> ids) = 0;

  // The task with this key; nothing if there is none.
  virtual Result<std::optional<Task>> find(std::string_view queue, std::string_view key) = 0;

  // A page of a list. Stable: a task that is in the list throughout is neither skipped nor repeated.
  virtual Result<Page> list(const ListQuery& query) = 0;
};

}  // namespace horae
