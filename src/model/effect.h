// What an event does to a task: the effects of the state table (model/state.h), decided in one place.
//
// judge() and is_allowed() say whether an event may happen; effect_of() says what it changes. Both are pure. A store
// reads the facts, calls effect_of(), turns durations into instants by its own clock, and writes down the answer. A
// statement that decides in SQL, so that it needs one round trip, repeats the rule; the contract tests EffectTable.*
// compare each store with this function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/history.h"
#include "model/retry.h"
#include "model/settle.h"
#include "model/state.h"
#include "model/task.h"

namespace horae {

// The part of a task that decides what an event does to it.
struct TaskFacts {
  std::optional<State> state;         // nothing: there is no task yet
  int tries = 0;                      // failures so far that count against max_attempts
  int max_attempts = 0;               // 0: no limit
  std::optional<Duration> recurring;  // the interval of a recurring task
  RetryPolicy retry;                  // decides an abort only
  double progress = 0.0;              // kept in the history of a yield and an expiry; decides nothing else
  Duration lease = kDefaultLease;     // its length, while running
};

// What came with the event. Only the fields that are named for an event count.
struct EventFacts {
  bool is_due_later = false;       // submit: run_at is in the future
  std::optional<Duration> lease;   // claim (required), heartbeat: the length that was asked for
  std::optional<double> progress;  // heartbeat, yield: as reported
  bool has_checkpoint = false;     // heartbeat, yield: one was brought
  double chance = 0.0;             // abort: uniform in [0, 1), the jitter of a retry
};

// How a task changes. What is not named here stays as it is.
struct Effect {
  // The owner of the attempt and its beginning (Task::owner, Task::started_at).
  enum class Owner : std::uint8_t { kStays, kNew, kCleared };
  enum class Checkpoint : std::uint8_t { kStays, kReplaced, kDropped };
  enum class Errors : std::uint8_t { kStay, kBrought, kExhausted };  // kExhausted: attempts_exhausted()
  // The place among the ready tasks of the queue. A task that is scheduled has none.
  enum class Rank : std::uint8_t { kStays, kNew, kCleared };

  // An entry of the history, with the owner and the number of the attempt, at the time of the event.
  struct Note {
    HistoryKind kind = HistoryKind::kAssignment;
    std::optional<double> progress;
    bool has_errors = false;  // its detail is history_detail(to_json(errors)) of the errors that the event brought

    friend bool operator==(const Note&, const Note&) = default;
  };

  std::optional<State> state;      // after the event; nothing: the task is gone
  Owner owner = Owner::kStays;     // kNew: attempt + 1
  std::optional<Event> ended;      // how the running attempt ended, remembered for Verdict::kRepeated
  std::optional<Duration> lease;   // the lease ends that long from now; nothing: there is none
  std::optional<Duration> due_in;  // run_at is that long from now; nothing: it stays
  Rank rank = Rank::kStays;
  int tries = 0;                   // after the event
  std::optional<double> progress;  // after the event; nothing: it stays
  Checkpoint checkpoint = Checkpoint::kStays;
  bool replaces_result = false;  // by what the event brought, also if it brought none
  Errors errors = Errors::kStay;
  std::optional<Note> history;
  bool removes_assignment = false;  // the history forgets that the attempt began
  bool is_update = true;            // updated_at is the time of the event

  friend bool operator==(const Effect&, const Effect&) = default;
};

// The effect of an event that is allowed in the state of the task (anything else is a bug and stops the program) and,
// where an owner asked for it, that judge() accepted.
Effect effect_of(const TaskFacts& task, Event event, const EventFacts& facts);

// The row of the state table that applies: which of the two ends the event has.
Condition condition_of(const TaskFacts& task, Event event, const EventFacts& facts);

// The error of a task whose last lease expired.
TaskError attempts_exhausted();

// True if what `event` brought for `attempt` is kept in the history as a late result, although `verdict` refuses it:
// a complete or an abort of an attempt that has begun. Once for each attempt and owner.
bool keeps_late_result(Verdict verdict, const Holding& task, Event event, int attempt);

// The detail of that entry: the errors of an abort, the result of a completion, empty if it brought none.
std::string late_result_detail(Event event, const std::vector<TaskError>& errors,
                               const std::optional<std::string>& result);

}  // namespace horae
