// The states of a task, the events that move it, and the one table that says which event may happen in which state.
//
// Everything that speaks about transitions comes from that table: what a store may do, the messages of refusals, and
// docs/reference/state_machine.md with its diagram.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/uuid.h"

namespace horae {

enum class State : std::uint8_t { kScheduled, kReady, kRunning, kCompleted, kAborted, kCancelled };

inline constexpr std::array kAllStates = {State::kScheduled, State::kReady,   State::kRunning,
                                          State::kCompleted, State::kAborted, State::kCancelled};

enum class Event : std::uint8_t {
  kSubmit,
  kPromote,
  kClaim,
  kHeartbeat,
  kComplete,
  kAbort,
  kYield,
  kRelease,
  kExpire,
  kCancel,
  kPurge,
};

inline constexpr std::array kAllEvents = {Event::kSubmit,   Event::kPromote, Event::kClaim, Event::kHeartbeat,
                                          Event::kComplete, Event::kAbort,   Event::kYield, Event::kRelease,
                                          Event::kExpire,   Event::kCancel,  Event::kPurge};

// What decides between the two ends of an event that has two.
enum class Condition : std::uint8_t {
  kNone,       // the usual end
  kDueLater,   // submit: run_at is in the future
  kRecurs,     // complete: the task has an interval
  kRetried,    // abort: the retry policy allows another try
  kExhausted,  // expire: max_attempts is used up
};

// One row of the table. No state means: the task does not exist (before submit, after purge).
struct Transition {
  Event event;
  std::optional<State> from;
  Condition condition;
  std::optional<State> to;
  std::string_view effect;  // what else happens, for the documentation
};

std::span<const Transition> transitions();

std::string_view to_string(State state);
std::string_view to_string(Event event);
std::string_view to_string(Condition condition);  // as a phrase: "it recurs"

std::optional<State> parse_state(std::string_view text);

// Terminal states are final: only purge follows.
bool is_terminal(State state);

// The state after `event` in `from` under `condition`, or the refusal of the table as refuse() words it. A condition
// that the event does not have is a bug and stops the program.
Result<std::optional<State>> next_state(const Uuid& task, Event event, std::optional<State> from,
                                        Condition condition = Condition::kNone);

bool is_allowed(Event event, std::optional<State> from);

// The states in which `event` may happen, in words: "scheduled, ready or running".
std::string allowed_states(Event event);

// Why `event` cannot happen to `task` in `state`: which task, which state it is in, which states were allowed.
// kNotFound when the task does not exist, else kConflict.
Error refuse(const Uuid& task, Event event, std::optional<State> state);

}  // namespace horae
