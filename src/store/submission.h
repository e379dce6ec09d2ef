// Submissions: what a caller passes, and the outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/task.h"

namespace horae {

inline constexpr std::size_t kMaxBatch = 1'000;    // items of one call, of any kind
inline constexpr std::size_t kMaxQueues = 10'000;  // a submit that would make one more is refused

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

  const TaskId& id() const { return task.id ? *task.id : new_id; }
};

struct SubmitOutcome {
  enum class Kind {
    kCreated,    // stored by this call
    kPresent,    // the same request had been stored before: under this id, or under this key in this queue
    kConflict,   // this id or key is taken by another request; the stored task is left alone
    kOverLimit,  // the queue is new, and there are kMaxQueues already
  };

  Kind kind = Kind::kCreated;
  TaskId id;                        // of the stored task, also for kPresent and kConflict
  std::int64_t number = 0;          // of the stored task; 0 for kOverLimit
  State state = State::kScheduled;  // of the stored task at this moment

  friend bool operator==(const SubmitOutcome&, const SubmitOutcome&) = default;
};

// Checks what comes from outside; the error names the field.
Result<void> check_submission(const Submission& submission);

// Why a submission was not stored, for the client. The outcome is kConflict or kOverLimit.
Error submit_error(const Submission& submission, const SubmitOutcome& outcome);

// A digest of the request as the client sent it, without what the store derives from it. Equal requests have equal
// digests; different ones differ (SHA-256, cut to 16 bytes).
std::string request_digest(const NewTask& task);

}  // namespace horae
