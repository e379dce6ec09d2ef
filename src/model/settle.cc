#include "model/settle.h"

#include "base/check.h"
#include "base/mutant.h"

namespace horae {
namespace {

// Which attempt `ended` speaks of.
int ended_attempt(const Holding& task) { return task.state == State::kRunning ? task.attempt - 1 : task.attempt; }

bool ended_like_this(const Holding& task, Event event, int attempt, std::string_view owner) {
  return task.ended && attempt == ended_attempt(task) && task.ended->event == event && task.ended->owner == owner;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAccepted:
      return "accepted";
    case Verdict::kRepeated:
      return "repeated";
    case Verdict::kNotFound:
      return "not_found";
    case Verdict::kStaleAttempt:
      return "stale_attempt";
    case Verdict::kCancelled:
      return "cancelled";
    case Verdict::kWrongState:
      return "wrong_state";
  }
  check_failed("verdict", __FILE__, __LINE__, "a verdict outside the enumeration");
}

Verdict judge(const std::optional<Holding>& task, Event event, int attempt, std::string_view owner) {
  if (!task) return Verdict::kNotFound;
  if (ended_like_this(*task, event, attempt, owner)) return Verdict::kRepeated;
  const bool is_holder = attempt == task->attempt && owner == task->owner;
  if (HORAE_MUTANT("complete_over_cancel") && event == Event::kComplete && is_holder) return Verdict::kAccepted;
  if (task->state == State::kCancelled) return Verdict::kCancelled;
  if (task->state == State::kRunning) {
    return is_holder || HORAE_MUTANT("settle_any_attempt") ? Verdict::kAccepted : Verdict::kStaleAttempt;
  }
  return attempt < task->attempt ? Verdict::kStaleAttempt : Verdict::kWrongState;
}

}  // namespace horae
