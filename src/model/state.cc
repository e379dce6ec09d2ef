#include "model/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace horae {
namespace {

constexpr std::nullopt_t kAbsent = std::nullopt;

// The state table. Of two rows for one event and state, the first holds under its condition, the second else.
constexpr Transition kTransitions[] = {
    {Event::kSubmit, kAbsent, Condition::kDueLater, State::kScheduled, "durable before it is acknowledged"},
    {Event::kSubmit, kAbsent, Condition::kNone, State::kReady,
     "durable before it is acknowledged; the store gives the rank"},
    {Event::kPromote, State::kScheduled, Condition::kNone, State::kReady,
     "once run_at is reached; the store gives the rank"},
    {Event::kClaim, State::kReady, Condition::kNone, State::kRunning,
     "attempt + 1, owner, lease_expires = now + lease; history TaskAssignment"},
    {Event::kHeartbeat, State::kRunning, Condition::kNone, State::kRunning,
     "owner and attempt match; extends the lease; may set progress and checkpoint"},
    {Event::kComplete, State::kRunning, Condition::kRecurs, State::kScheduled,
     "owner and attempt match; the next turn is due one interval after this end; tries = 0"},
    {Event::kComplete, State::kRunning, Condition::kNone, State::kCompleted, "owner and attempt match; progress 1.0"},
    {Event::kAbort, State::kRunning, Condition::kRetried, State::kScheduled,
     "owner and attempt match; at least one error; tries + 1; due after the policy's delay"},
    {Event::kAbort, State::kRunning, Condition::kNone, State::kAborted,
     "owner and attempt match; at least one error; ends a recurrence too"},
    {Event::kYield, State::kRunning, Condition::kNone, State::kReady,
     "owner and attempt match; history TaskYield with the progress reached; progress 0.0; checkpoint and rank kept; "
     "costs no try"},
    {Event::kRelease, State::kRunning, Condition::kNone, State::kReady,
     "owner and attempt match; the task was never started; nothing but the lease changes; costs no try"},
    {Event::kExpire, State::kRunning, Condition::kExhausted, State::kAborted,
     "lease_expires < now; history TaskTimeout; error attempts_exhausted"},
    {Event::kExpire, State::kRunning, Condition::kNone, State::kReady,
     "lease_expires < now; tries + 1; history TaskTimeout; progress 0.0; checkpoint and rank kept"},
    {Event::kCancel, State::kScheduled, Condition::kNone, State::kCancelled, "by any client, with an optional reason"},
    {Event::kCancel, State::kReady, Condition::kNone, State::kCancelled, "by any client, with an optional reason"},
    {Event::kCancel, State::kRunning, Condition::kNone, State::kCancelled,
     "by any client, with an optional reason; the worker learns it at its next call, a late complete is refused"},
    {Event::kPurge, State::kCompleted, Condition::kNone, kAbsent, "updated_at < now - retention"},
    {Event::kPurge, State::kAborted, Condition::kNone, kAbsent, "updated_at < now - retention"},
    {Event::kPurge, State::kCancelled, Condition::kNone, kAbsent, "updated_at < now - retention"},
};

bool knows_condition(Event event, Condition condition) {
  return condition == Condition::kNone || std::ranges::any_of(kTransitions, [&](const Transition& row) {
           return row.event == event && row.condition == condition;
         });
}

// "scheduled, ready or running"
std::string join_with_or(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace

std::span<const Transition> transitions() { return kTransitions; }

std::string_view to_string(State state) {
  switch (state) {
    case State::kScheduled:
      return "scheduled";
    case State::kReady:
      return "ready";
    case State::kRunning:
      return "running";
    case State::kCompleted:
      return "completed";
    case State::kAborted:
      return "aborted";
    case State::kCancelled:
      return "cancelled";
  }
  check_failed("state", __FILE__, __LINE__, "a state outside the enumeration");
}

std::string_view to_string(Event event) {
  switch (event) {
    case Event::kSubmit:
      return "submit";
    case Event::kPromote:
      return "promote";
    case Event::kClaim:
      return "claim";
    case Event::kHeartbeat:
      return "heartbeat";
    case Event::kComplete:
      return "complete";
    case Event::kAbort:
      return "abort";
    case Event::kYield:
      return "yield";
    case Event::kRelease:
      return "release";
    case Event::kExpire:
      return "expire";
    case Event::kCancel:
      return "cancel";
    case Event::kPurge:
      return "purge";
  }
  check_failed("event", __FILE__, __LINE__, "an event outside the enumeration");
}

std::string_view to_string(Condition condition) {
  switch (condition) {
    case Condition::kNone:
      return "";
    case Condition::kDueLater:
      return "run_at is in the future";
    case Condition::kRecurs:
      return "it recurs";
    case Condition::kRetried:
      return "its retry policy allows another try";
    case Condition::kExhausted:
      return "max_attempts is used up";
  }
  check_failed("condition", __FILE__, __LINE__, "a condition outside the enumeration");
}

std::optional<State> parse_state(std::string_view text) {
  for (const State state : kAllStates) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

bool is_terminal(State state) {
  return std::ranges::all_of(kTransitions,
                             [&](const Transition& row) { return row.from != state || row.to == std::nullopt; });
}

bool is_allowed(Event event, std::optional<State> from) {
  return std::ranges::any_of(kTransitions,
                             [&](const Transition& row) { return row.event == event && row.from == from; });
}

Result<std::optional<State>> next_state(const Uuid& task, Event event, std::optional<State> from, Condition condition) {
  HORAE_CHECK(knows_condition(event, condition), "this event has no such condition");
  for (const Transition& row : kTransitions) {
    if (row.event == event && row.from == from && row.condition == condition) return row.to;
  }
  return refuse(task, event, from);
}

std::string allowed_states(Event event) {
  std::vector<std::string_view> names;
  for (const Transition& row : kTransitions) {
    if (row.event != event) continue;
    const std::string_view name = row.from ? to_string(*row.from) : "absent";
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return join_with_or(names);
}

Error refuse(const Uuid& task, Event event, std::optional<State> state) {
  if (!state) {
    return {
        ErrorCode::kNotFound,
        fmt::format("task {}: cannot {}: there is no such task; it was never submitted, or purged after its retention",
                    to_string(task), to_string(event))};
  }
  if (event == Event::kSubmit) {
    return {ErrorCode::kConflict, fmt::format("task {}: cannot submit: the task exists and is {}; use another id",
                                              to_string(task), to_string(*state))};
  }
  return {ErrorCode::kConflict, fmt::format("task {}: cannot {}: the task is {}, and must be {}", to_string(task),
                                            to_string(event), to_string(*state), allowed_states(event))};
}

}  // namespace horae
