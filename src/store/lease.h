// Claims, settlements and cancels: what a caller passes, and the outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/queue_scope.h"
#include "model/settle.h"
#include "model/task.h"

namespace horae {

inline constexpr std::size_t kMaxQueuesOfAClaim = 16;
inline constexpr std::size_t kMaxClaimBytes =
    8 << 20;  // of specs and checkpoints in the answer to one claim; a single task always fits
inline constexpr std::size_t kMaxOwnerLength = 128;
inline constexpr std::size_t kMaxResultBytes = 1 << 20;
inline constexpr std::size_t kMaxCheckpointBytes = 1 << 20;
inline constexpr std::size_t kMaxReasonBytes = 1 << 10;
inline constexpr std::size_t kMaxErrors = 16;
inline constexpr std::size_t kMaxErrorBytes = 1 << 16;  // of all errors of one abort together

// How long a store remembers, at least, that a token has served its claim; see TaskStore::claim().
inline constexpr Duration kTokenMemory = std::chrono::hours(24);

// A request of one owner for tasks to run.
struct ClaimWish {
  std::string owner;                // "worker-7"; unique for each start of a worker
  std::vector<std::string> queues;  // 1 to kMaxQueuesOfAClaim, without repetition
  int max = 1;                      // 1 to kMaxBatch
  Uuid token;                       // made by the caller for this one claim; see TaskStore::leases_of()
  Duration lease = kDefaultLease;   // kMinLease to kMaxLease
  bool once = false;                // idempotent by its token, on all nodes; see TaskStore::claim()
};

// A task that its owner runs. `attempt` is the fencing token: pass it to whatever the task writes to.
struct LeasedTask {
  TaskId id;
  std::int64_t number = 0;
  std::string queue;
  int priority = kDefaultPriority;
  std::string spec;
  int attempt = 0;
  std::optional<std::string> checkpoint;
  Instant lease_expires;

  friend bool operator==(const LeasedTask&, const LeasedTask&) = default;
};

// What a wish got.
struct ClaimOutcome {
  enum class Kind {
    kNew,         // its tasks were leased by this call; there may be none
    kRepeated,    // its token had served before: its tasks are those that are still leased under it, maybe none
    kOtherOwner,  // tasks of another owner are leased under its token: it gets nothing
  };

  Kind kind = Kind::kNew;
  std::vector<LeasedTask> tasks;

  friend bool operator==(const ClaimOutcome&, const ClaimOutcome&) = default;
};

// What an owner reports of one attempt. Which fields count depends on the event:
//   kHeartbeat  lease, progress and checkpoint, each if given
//   kComplete   result
//   kAbort      errors (at least one), chance
//   kYield      progress and checkpoint if given
//   kRelease    nothing more
struct Settlement {
  Event event = Event::kHeartbeat;
  TaskId id;
  std::int64_t number = 0;  // of the LeasedTask if the caller still has it, else 0; only saves a look-up
  int attempt = 0;
  std::string owner;
  std::optional<Duration> lease;          // from now on; nothing: as long as it was given or extended for last
  std::optional<double> progress;         // 0 to 1
  std::optional<std::string> checkpoint;  // JSON, kept as the exact bytes
  std::optional<std::string> result;      // JSON, kept as the exact bytes
  std::vector<TaskError> errors;
  double chance = 0.0;     // uniform in [0, 1): the jitter of a retry
  Scope scope;             // of the caller: a task outside is not found
  std::string queue = {};  // of the task if the caller has it: for observers of the store, which does not read it
};

// The verdict on a settlement, and the state of the task now.
struct SettleOutcome {
  Verdict verdict = Verdict::kNotFound;
  std::optional<State> state;            // after the call; nothing for kNotFound
  int attempt = 0;                       // the newest
  std::optional<std::string> owner;      // of the newest attempt
  std::optional<Instant> lease_expires;  // while running

  friend bool operator==(const SettleOutcome&, const SettleOutcome&) = default;
};

// A client's wish to end a task.
struct CancelWish {
  TaskId id;
  std::optional<std::string> reason;
  Scope scope;  // of the caller: a task outside is not found
};

// kAccepted, kRepeated (it was cancelled before: the first reason stays), kNotFound or kWrongState (it had ended).
struct CancelOutcome {
  Verdict verdict = Verdict::kNotFound;
  std::optional<State> state;             // after the call
  std::optional<std::string> owner = {};  // of the attempt that this call ended; nothing if the task was not running

  friend bool operator==(const CancelOutcome&, const CancelOutcome&) = default;
};

// Check what comes from outside; the error names the field. A store refuses a batch in which one item fails these.
Result<void> check_owner(std::string_view owner);
Result<void> check_lease_length(Duration lease);
Result<void> check_claim_wish(const ClaimWish& wish);
Result<void> check_settlement(const Settlement& settlement);
Result<void> check_cancel_wish(const CancelWish& wish);

// Why a settlement was refused, for the worker's log: which task and attempt, its present owner, and what to do. The
// verdict is neither kAccepted nor kRepeated.
Error settle_error(const Settlement& settlement, const SettleOutcome& outcome);
Error cancel_error(const CancelWish& wish, const CancelOutcome& outcome);

// Why a wish got nothing: kOtherOwner. It does not name the other owner, of which this one may know nothing.
Error other_owner_error(const ClaimWish& wish);

}  // namespace horae
