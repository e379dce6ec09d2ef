// The effects, as a table that is written by hand: each event under each condition, and what it does. What must hold of
// all of them is shown over all combinations of facts.

#include "model/effect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <vector>

namespace horae {

// How GoogleTest prints what it compares.
void PrintTo(const Effect& effect, std::ostream* out) {
  *out << (effect.state ? to_string(*effect.state) : "gone") << " owner=" << static_cast<int>(effect.owner)
       << " ended=" << (effect.ended ? to_string(*effect.ended) : "-")
       << " lease=" << (effect.lease ? effect.lease->count() : -1)
       << " due_in=" << (effect.due_in ? effect.due_in->count() : -1) << " rank=" << static_cast<int>(effect.rank)
       << " tries=" << effect.tries << " progress=" << effect.progress.value_or(-1)
       << " checkpoint=" << static_cast<int>(effect.checkpoint) << " replaces_result=" << effect.replaces_result
       << " errors=" << static_cast<int>(effect.errors)
       << " history=" << (effect.history ? to_string(effect.history->kind) : "-")
       << " history.progress=" << (effect.history ? effect.history->progress.value_or(-1) : -1)
       << " history.has_errors=" << (effect.history && effect.history->has_errors)
       << " removes_assignment=" << effect.removes_assignment << " is_update=" << effect.is_update;
}

namespace {

using std::literals::operator""h;
using std::literals::operator""s;

using Owner = Effect::Owner;
using Checkpoint = Effect::Checkpoint;
using Errors = Effect::Errors;
using Rank = Effect::Rank;

constexpr RetryPolicy kFixed{.kind = RetryPolicy::Kind::kFixed, .delay = 7s};

// A running task with a past: two failures, progress, a lease of its own length.
TaskFacts running(std::optional<Duration> recurring = std::nullopt, RetryPolicy retry = {}, int max_attempts = 0) {
  return {.state = State::kRunning,
          .tries = 2,
          .max_attempts = max_attempts,
          .recurring = recurring,
          .retry = retry,
          .progress = 0.75,
          .lease = 30s};
}

TaskFacts in(std::optional<State> state) {
  TaskFacts facts = running();
  facts.state = state;
  return facts;
}

struct Row {
  std::string name;
  TaskFacts task;
  Event event;
  EventFacts facts;
  Condition condition;
  Effect effect;
};

Effect::Note note(HistoryKind kind, std::optional<double> progress = std::nullopt, bool has_errors = false) {
  return {.kind = kind, .progress = progress, .has_errors = has_errors};
}

// Without an owner that asks: submit, promote, expire, cancel, purge.
std::vector<Row> rows_of_the_store() {
  const Effect timeout{.state = State::kReady,
                       .owner = Owner::kCleared,
                       .ended = Event::kExpire,
                       .tries = 3,
                       .progress = 0.0,
                       .history = note(HistoryKind::kTimeout, 0.75)};
  const Effect exhausted{.state = State::kAborted,
                         .ended = Event::kExpire,
                         .tries = 3,
                         .progress = 0.0,
                         .errors = Errors::kExhausted,
                         .history = note(HistoryKind::kTimeout, 0.75)};
  const Effect cancelled{.state = State::kCancelled, .tries = 2};
  Effect cancelled_in_flight = cancelled;
  cancelled_in_flight.ended = Event::kCancel;
  const Effect gone{.state = std::nullopt, .tries = 2};
  const Condition none = Condition::kNone;
  return {
      {"submit", {}, Event::kSubmit, {}, none, {.state = State::kReady, .rank = Rank::kNew}},
      {"submit for later",
       {},
       Event::kSubmit,
       {.is_due_later = true},
       Condition::kDueLater,
       {.state = State::kScheduled, .rank = Rank::kCleared}},
      {"promote",
       in(State::kScheduled),
       Event::kPromote,
       {},
       none,
       {.state = State::kReady, .rank = Rank::kNew, .tries = 2}},
      {"expire without a limit", running(), Event::kExpire, {}, none, timeout},
      {"expire with tries left", running({}, {}, 4), Event::kExpire, {}, none, timeout},
      {"expire of a recurring task", running(1h), Event::kExpire, {}, none, timeout},
      {"expire ignores the retry policy", running({}, kFixed), Event::kExpire, {}, none, timeout},
      {"expire of the last try", running({}, {}, 3), Event::kExpire, {}, Condition::kExhausted, exhausted},
      {"expire beyond the last try", running({}, {}, 1), Event::kExpire, {}, Condition::kExhausted, exhausted},
      {"expire of the last try, recurring", running(1h, {}, 3), Event::kExpire, {}, Condition::kExhausted, exhausted},
      {"cancel of a scheduled task", in(State::kScheduled), Event::kCancel, {}, none, cancelled},
      {"cancel of a ready task", in(State::kReady), Event::kCancel, {}, none, cancelled},
      {"cancel of a running task", running(1h, kFixed, 9), Event::kCancel, {}, none, cancelled_in_flight},
      {"purge of a completed task", in(State::kCompleted), Event::kPurge, {}, none, gone},
      {"purge of an aborted task", in(State::kAborted), Event::kPurge, {}, none, gone},
      {"purge of a cancelled task", in(State::kCancelled), Event::kPurge, {}, none, gone},
  };
}

// The attempt begins or goes on: claim, heartbeat.
std::vector<Row> rows_of_leases() {
  const Condition none = Condition::kNone;
  return {
      {"claim",
       in(State::kReady),
       Event::kClaim,
       {.lease = 5s},
       none,
       {.state = State::kRunning,
        .owner = Owner::kNew,
        .lease = 5s,
        .tries = 2,
        .history = note(HistoryKind::kAssignment)}},
      {"heartbeat alone",
       running(),
       Event::kHeartbeat,
       {},
       none,
       {.state = State::kRunning, .lease = 30s, .tries = 2, .is_update = false}},
      {"heartbeat with another length",
       running(1h, kFixed, 3),
       Event::kHeartbeat,
       {.lease = 5s},
       none,
       {.state = State::kRunning, .lease = 5s, .tries = 2, .is_update = false}},
      {"heartbeat with progress",
       running(),
       Event::kHeartbeat,
       {.progress = 0.5},
       none,
       {.state = State::kRunning, .lease = 30s, .tries = 2, .progress = 0.5}},
      {"heartbeat with a checkpoint",
       running(),
       Event::kHeartbeat,
       {.has_checkpoint = true},
       none,
       {.state = State::kRunning, .lease = 30s, .tries = 2, .checkpoint = Checkpoint::kReplaced}},
  };
}

// The owner ends the attempt: complete, abort, yield, release.
std::vector<Row> rows_of_ends() {
  const Effect completed{
      .state = State::kCompleted, .ended = Event::kComplete, .tries = 2, .progress = 1.0, .replaces_result = true};
  const Effect next_turn{.state = State::kScheduled,
                         .owner = Owner::kCleared,
                         .ended = Event::kComplete,
                         .due_in = 1h,
                         .rank = Rank::kCleared,
                         .tries = 0,
                         .progress = 0.0,
                         .checkpoint = Checkpoint::kDropped,
                         .replaces_result = true};
  const Effect aborted{.state = State::kAborted, .ended = Event::kAbort, .tries = 2, .errors = Errors::kBrought};
  const Effect next_try{.state = State::kScheduled,
                        .owner = Owner::kCleared,
                        .ended = Event::kAbort,
                        .due_in = 7s,
                        .rank = Rank::kCleared,
                        .tries = 3,
                        .progress = 0.0,
                        .history = note(HistoryKind::kRetry, std::nullopt, true)};
  const Effect yielded{.state = State::kReady,
                       .owner = Owner::kCleared,
                       .ended = Event::kYield,
                       .tries = 2,
                       .progress = 0.0,
                       .history = note(HistoryKind::kYield, 0.75)};
  Effect yielded_with_all = yielded;
  yielded_with_all.checkpoint = Checkpoint::kReplaced;
  yielded_with_all.history = note(HistoryKind::kYield, 0.9);
  const Effect released{.state = State::kReady,
                        .owner = Owner::kCleared,
                        .ended = Event::kRelease,
                        .tries = 2,
                        .removes_assignment = true};
  const Condition none = Condition::kNone;
  return {
      {"complete", running(), Event::kComplete, {}, none, completed},
      {"complete of the last try", running({}, kFixed, 3), Event::kComplete, {}, none, completed},
      {"complete of a turn", running(1h), Event::kComplete, {}, Condition::kRecurs, next_turn},
      {"complete of a turn at the last try",
       running(1h, kFixed, 3),
       Event::kComplete,
       {},
       Condition::kRecurs,
       next_turn},
      {"abort without a policy", running(), Event::kAbort, {}, none, aborted},
      {"abort without a policy, recurring", running(1h), Event::kAbort, {}, none, aborted},
      {"abort of the last try", running({}, kFixed, 3), Event::kAbort, {}, none, aborted},
      {"abort of the last try, recurring", running(1h, kFixed, 3), Event::kAbort, {}, none, aborted},
      {"abort that is retried", running({}, kFixed), Event::kAbort, {}, Condition::kRetried, next_try},
      {"abort that is retried, recurring", running(1h, kFixed), Event::kAbort, {}, Condition::kRetried, next_try},
      {"abort with tries left", running({}, kFixed, 4), Event::kAbort, {}, Condition::kRetried, next_try},
      {"yield", running(1h, kFixed, 3), Event::kYield, {}, none, yielded},
      {"yield with progress and a checkpoint",
       running(),
       Event::kYield,
       {.progress = 0.9, .has_checkpoint = true},
       none,
       yielded_with_all},
      {"release", running(1h, kFixed, 3), Event::kRelease, {}, none, released},
  };
}

std::vector<Row> all_rows() {
  std::vector<Row> rows = rows_of_the_store();
  for (const auto& more : {rows_of_leases(), rows_of_ends()}) rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

TEST(Effect, MatchesTheTable) {
  for (const Row& row : all_rows()) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(condition_of(row.task, row.event, row.facts), row.condition);
    EXPECT_EQ(effect_of(row.task, row.event, row.facts), row.effect);
  }
}

TEST(Effect, TheTableHasEachRowOfTheStateTable) {
  const auto rows = all_rows();
  for (const Transition& transition : transitions()) {
    const bool has_row = std::ranges::any_of(rows, [&](const Row& row) {
      return row.event == transition.event && row.task.state == transition.from &&
             row.condition == transition.condition && row.effect.state == transition.to;
    });
    EXPECT_TRUE(has_row) << to_string(transition.event) << " " << to_string(transition.condition);
  }
}

// Calls `body(task, event, facts)` for each allowed event and all combinations of what decides about it.
template <typename Body>
void for_all_combinations(Body body) {
  RetryPolicy growing{.kind = RetryPolicy::Kind::kExponential, .delay = 1s, .jitter = 0.5};
  std::vector<std::optional<State>> states = {std::nullopt};
  states.insert(states.end(), kAllStates.begin(), kAllStates.end());
  for (const Event event : kAllEvents)
    for (const auto& state : states)
      for (const int tries : {0, 1, 5})
        for (const int max_attempts : {0, 1, 2, 6, 7})
          for (const auto& recurring : {std::optional<Duration>(), std::optional<Duration>(1h)})
            for (const RetryPolicy& retry : {RetryPolicy(), kFixed, growing})
              for (const bool brings : {false, true}) {
                if (!is_allowed(event, state)) continue;
                const TaskFacts task{state, tries, max_attempts, recurring, retry, 0.25, 20s};
                const EventFacts facts{.is_due_later = brings,
                                       .lease = brings || event == Event::kClaim ? std::optional(5s) : std::nullopt,
                                       .progress = brings ? std::optional(0.5) : std::nullopt,
                                       .has_checkpoint = brings,
                                       .chance = brings ? 0.9 : 0.0};
                SCOPED_TRACE(std::string(to_string(event)) + " tries " + std::to_string(tries) + " of " +
                             std::to_string(max_attempts));
                body(task, event, facts);
              }
}

TEST(Effect, LeadsWhereTheStateTableLeads) {
  for_all_combinations([](const TaskFacts& task, Event event, const EventFacts& facts) {
    const auto next = next_state({}, event, task.state, condition_of(task, event, facts));
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(effect_of(task, event, facts).state, *next);
  });
}

TEST(Effect, OnlyARunningTaskHasALease) {
  for_all_combinations([](const TaskFacts& task, Event event, const EventFacts& facts) {
    const Effect effect = effect_of(task, event, facts);
    EXPECT_EQ(effect.lease.has_value(), effect.state == State::kRunning);
  });
}

TEST(Effect, AnAttemptEndsWhenTheTaskLeavesRunning) {
  for_all_combinations([](const TaskFacts& task, Event event, const EventFacts& facts) {
    const Effect effect = effect_of(task, event, facts);
    const bool leaves = task.state == State::kRunning && effect.state != State::kRunning;
    EXPECT_EQ(effect.ended, leaves ? std::optional(event) : std::nullopt);
    EXPECT_EQ(effect.owner == Owner::kCleared, leaves && !is_terminal(*effect.state));
  });
}

TEST(Effect, AReadyTaskHasARankAndAScheduledOneHasNone) {
  for_all_combinations([](const TaskFacts& task, Event event, const EventFacts& facts) {
    const Effect effect = effect_of(task, event, facts);
    EXPECT_EQ(effect.rank == Rank::kCleared, effect.state == State::kScheduled);
    const bool becomes_ready = effect.state == State::kReady && task.state != State::kRunning;
    EXPECT_EQ(effect.rank == Rank::kNew, becomes_ready);
  });
}

TEST(Effect, OnlyARetryOrTheNextTurnMovesTheDueTime) {
  for_all_combinations([](const TaskFacts& task, Event event, const EventFacts& facts) {
    const Effect effect = effect_of(task, event, facts);
    const bool waits_again = event != Event::kSubmit && effect.state == State::kScheduled;
    EXPECT_EQ(effect.due_in.has_value(), waits_again);
    if (event == Event::kComplete && waits_again) {
      EXPECT_EQ(effect.due_in, task.recurring);
    }
    if (event == Event::kAbort && waits_again) {
      EXPECT_EQ(effect.due_in, retry_delay(task.retry, task.tries + 1, task.max_attempts, facts.chance));
    }
  });
}

TEST(Effect, OnlyARetryAndAnExpiryCostATry) {
  for_all_combinations([](const TaskFacts& task, Event event, const EventFacts& facts) {
    const Condition condition = condition_of(task, event, facts);
    int tries = task.tries;
    if (condition == Condition::kRetried || event == Event::kExpire) ++tries;
    if (condition == Condition::kRecurs) tries = 0;
    EXPECT_EQ(effect_of(task, event, facts).tries, tries);
  });
}

TEST(Effect, ATaskIsAbortedWithErrorsOnly) {
  for_all_combinations([](const TaskFacts& task, Event event, const EventFacts& facts) {
    const Effect effect = effect_of(task, event, facts);
    const bool aborts = effect.state == State::kAborted;
    EXPECT_EQ(effect.errors != Errors::kStay, aborts);
    EXPECT_EQ(effect.history && effect.history->has_errors, event == Event::kAbort && !aborts);
  });
}

TEST(EffectDeathTest, AnEventThatIsNotAllowedStopsTheProgram) {
  EXPECT_DEATH(effect_of(in(State::kReady), Event::kComplete, {}), "the state table allows the event");
  EXPECT_DEATH(effect_of(in(State::kCompleted), Event::kCancel, {}), "the state table allows the event");
}

// ---- Late results ----

constexpr std::array kAllVerdicts = {Verdict::kAccepted,     Verdict::kRepeated,  Verdict::kNotFound,
                                     Verdict::kStaleAttempt, Verdict::kCancelled, Verdict::kWrongState};

TEST(LateResult, IsKeptOfARefusedCompleteOrAbort) {
  const Holding task{.state = State::kRunning, .attempt = 3, .owner = "worker-3"};
  for (const Event event : kAllEvents) {
    for (const Verdict verdict : kAllVerdicts) {
      const bool keeps = (event == Event::kComplete || event == Event::kAbort) && !is_success(verdict);
      EXPECT_EQ(keeps_late_result(verdict, task, event, 2), keeps) << to_string(event) << " " << to_string(verdict);
    }
  }
}

TEST(LateResult, IsKeptOnlyOfAnAttemptThatHasBegun) {
  const Holding task{.state = State::kReady, .attempt = 3};
  for (const auto& [attempt, keeps] : {std::pair(0, false), {1, true}, {3, true}, {4, false}}) {
    EXPECT_EQ(keeps_late_result(Verdict::kStaleAttempt, task, Event::kComplete, attempt), keeps) << attempt;
  }
}

TEST(LateResult, DetailIsTheResultOrTheErrors) {
  const std::vector<TaskError> errors = {{.code = "e1"}};
  EXPECT_EQ(late_result_detail(Event::kComplete, errors, "[1]"), "[1]");
  EXPECT_EQ(late_result_detail(Event::kComplete, errors, std::nullopt), "");
  EXPECT_EQ(late_result_detail(Event::kAbort, errors, "[1]"), to_json(errors));
  const std::string large(kMaxHistoryDetailBytes + 1, '1');
  EXPECT_EQ(late_result_detail(Event::kComplete, {}, large), history_detail(large));
}

}  // namespace
}  // namespace horae
