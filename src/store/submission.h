// Submissions: what a caller passes, and the outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/task.h"

namespace horae {

inline constexpr std::size_t kMaxBatch = 1'000;  // items of one call, of any kind

// How many queues there may be by default, and how many one token may make for each of its patterns.
inline constexpr std::size_t kMaxQueues = 10'000;
inline constexpr std::size_t kMaxQueuesOfAToken = 100;

// Limits how many queues one token makes: those that it made and that exist still are counted in the store. So neither a
// restart nor another node gives it more.
struct QueueAllowance {
  std::string token;  // its id
  std::size_t most = kMaxQueuesOfAToken;
};

// The lease under which a task begins, for a caller that runs it itself: the task is submitted and claimed at once,
// whether its queue is paused or not, so no other owner ever gets its first attempt.
struct Start {
  std::string owner;
  Uuid token;
  Duration lease = kDefaultLease;
};

// A task as the client requested it, and its id if the client gave none. The caller makes `new_id` once and repeats it
// with the call: by it a submit whose reply was lost is recognised.
struct Submission {
  NewTask task;
  TaskId new_id;
  std::optional<Start> start = std::nullopt;  // not together with run_at

  // On whose account the queue is made if it does not exist; null: on nobody's.
  std::shared_ptr<const QueueAllowance> allowance = nullptr;

  const TaskId& id() const { return task.id ? *task.id : new_id; }
};

struct SubmitOutcome {
  enum class Kind {
    kCreated,        // stored by this call
    kPresent,        // the same request had been stored before: under this id, or under this key in this queue
    kConflict,       // this id or key is taken by another request; the stored task is left alone
    kOverLimit,      // the queue is new, and there are as many queues as there may be
    kOverAllowance,  // the queue is new, and the submission's allowance is used up
  };

  Kind kind = Kind::kCreated;
  TaskId id;                        // of the stored task, also for kPresent and kConflict
  std::int64_t number = 0;          // of the stored task; 0 if it was over a limit
  State state = State::kScheduled;  // of the stored task at this moment

  friend bool operator==(const SubmitOutcome&, const SubmitOutcome&) = default;
};

// Checks what comes from outside; the error names the field.
Result<void> check_submission(const Submission& submission);

// Why a submission was not stored, for the client. The outcome is neither kCreated nor kPresent.
Error submit_error(const Submission& submission, const SubmitOutcome& outcome);

// A digest of the request as the client sent it, without what the store derives from it. Equal requests have equal
// digests; different ones differ (SHA-256, cut to 16 bytes).
std::string request_digest(const NewTask& task);

}  // namespace horae
