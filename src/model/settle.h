// Which settlement an attempt accepts: the compare in every compare-and-set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/state.h"

namespace horae {

// What became of a settlement (heartbeat, complete, abort, yield, release) or a cancel.
enum class Verdict : std::uint8_t {
  kAccepted,      // done
  kRepeated,      // it had been accepted before, and the reply was lost: success for the caller
  kNotFound,      // there is no such task
  kStaleAttempt,  // another attempt or another owner holds the task
  kCancelled,     // the task was cancelled: stop working on it
  kWrongState,    // the task is in a state in which this cannot happen
};

// "accepted", "repeated", "not_found", "stale_attempt", "cancelled", "wrong_state".
std::string_view to_string(Verdict verdict);

// True where the caller may go on as if its call had succeeded.
constexpr bool is_success(Verdict verdict) { return verdict == Verdict::kAccepted || verdict == Verdict::kRepeated; }

// How an attempt ended: by which event (complete, abort, yield, release, expire, cancel), and its owner.
struct AttemptEnd {
  Event event;
  std::string owner;

  friend bool operator==(const AttemptEnd&, const AttemptEnd&) = default;
};

// The part of a task that decides a verdict.
struct Holding {
  State state;
  int attempt = 0;                  // the newest, 0 before the first claim
  std::string owner;                // while running
  std::optional<AttemptEnd> ended;  // of the newest attempt that has ended: `attempt - 1` while running, else `attempt`
};

// The verdict on `event` by `owner` for `attempt`. The order of the rules:
//   no task                                                      kNotFound
//   the attempt had ended by the same event and the same owner   kRepeated
//   the task is cancelled                                        kCancelled
//   it is running this attempt for this owner                    kAccepted
//   it is running, but another attempt or for another owner      kStaleAttempt
//   it is not running, and an attempt after this one has begun   kStaleAttempt
//   else                                                         kWrongState
// A store remembers the end of the newest ended attempt as long as the task exists; older ends are forgotten, and their
// repetition is kStaleAttempt. A heartbeat ends nothing, so it is never kRepeated.
Verdict judge(const std::optional<Holding>& task, Event event, int attempt, std::string_view owner);

}  // namespace horae
