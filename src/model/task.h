// A task and its parts, as plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/uuid.h"
#include "model/history.h"
#include "model/rank.h"
#include "model/retry.h"
#include "model/state.h"

namespace horae {

using TaskId = Uuid;

inline constexpr std::size_t kMaxKeyCharacters = 128;
inline constexpr std::string_view kReservedPrefix = "horae.";  // of names of queues that belong to Horae itself
inline constexpr std::size_t kMaxQueueNameLength = 128;
inline constexpr std::size_t kMaxSpecBytes = 1 << 20;
inline constexpr int kMaxAttemptsLimit = 1'000'000;
inline constexpr Duration kDefaultLease = std::chrono::seconds(10);
inline constexpr Duration kMinLease = std::chrono::milliseconds(100);
inline constexpr Duration kMaxLease = std::chrono::hours(24);
inline constexpr Duration kMinRecurring = std::chrono::milliseconds(1);
inline constexpr Duration kMaxRecurring = std::chrono::hours(24 * 366 * 10);

// Why an attempt was aborted.
struct TaskError {
  std::string code;
  std::string args = "{}";  // a JSON object, kept as the exact bytes of the worker
  std::string description;

  friend bool operator==(const TaskError&, const TaskError&) = default;
};

// The errors as a JSON array of objects, with each `args` as its exact bytes.
std::string to_json(const std::vector<TaskError>& errors);

// What a client asks for. Everything but the queue and the spec may be left out.
struct NewTask {
  std::optional<TaskId> id;        // made by Horae if absent
  std::optional<std::string> key;  // submitting twice under one key in one queue makes one task
  std::string queue;
  int priority = kDefaultPriority;
  std::string spec;                   // JSON, kept as the exact bytes of the client
  std::optional<Instant> run_at;      // at once if absent
  std::optional<Duration> recurring;  // from the end of one run to the next
  int max_attempts = 0;               // how many tries may fail; 0 is without end
  RetryPolicy retry;

  friend bool operator==(const NewTask&, const NewTask&) = default;
};

// Calls `visit` with each member, in this order, which the digests of stored requests rely on.
template <typename Visit>
void for_each_member(const NewTask& task, Visit visit) {
  const auto& [id, key, queue, priority, spec, run_at, recurring, max_attempts, retry] = task;
  visit(id), visit(key), visit(queue), visit(priority), visit(spec);
  visit(run_at), visit(recurring), visit(max_attempts), visit(retry);
}

// A task as stored, at one moment.
struct Task {
  TaskId id;
  std::int64_t number = 0;  // unique; higher than those of tasks that were submitted by calls before
  std::optional<std::string> key;
  std::string queue;
  int priority = kDefaultPriority;
  std::string spec;
  State state = State::kScheduled;
  double progress = 0.0;  // 0 to 1 by convention, not policed
  Instant created_at;
  Instant updated_at;  // when its state, progress or checkpoint changed; a heartbeat alone changes nothing
  Instant run_at;
  std::optional<Duration> recurring;
  int attempt = 0;  // counts executions, never reset: the fencing token
  int tries = 0;    // counts failures against max_attempts
  int max_attempts = 0;
  RetryPolicy retry;
  std::optional<std::string> owner;      // while running, and of the attempt that ended the task
  std::optional<Instant> started_at;     // of that attempt
  std::optional<Instant> lease_expires;  // while running
  std::vector<TaskError> errors;         // not empty if aborted
  std::optional<std::string> result;
  std::optional<std::string> checkpoint;
  std::optional<std::string> cancel_reason;
  History history;

  friend bool operator==(const Task&, const Task&) = default;
};

// Letters, digits, '.', '_' and '-', 1 to kMaxQueueNameLength of them.
Result<void> check_queue_name(std::string_view name);

// 1 to kMaxKeyCharacters characters of UTF-8, without control characters.
Result<void> check_key(std::string_view key);

// 0 to 255. Takes a wide type, so that what a client sent is refused rather than wrapped.
Result<void> check_priority(std::int64_t priority);

// Checks all of a submission but the syntax of the spec. The error names the field, its value and what is allowed.
Result<void> check_new_task(const NewTask& task);

}  // namespace horae
