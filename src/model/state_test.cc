#include "model/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace horae {
namespace {

using ::testing::HasSubstr;

const Uuid kTask = parse_uuid("0190f7c2-0a1b-7c3d-8e4f-0123456789ab").value();

std::string name(std::optional<State> state) { return state ? std::string(to_string(*state)) : "absent"; }

std::vector<std::optional<State>> all_places() {
  std::vector<std::optional<State>> places = {std::nullopt};
  places.insert(places.end(), kAllStates.begin(), kAllStates.end());
  return places;
}

// The state table, written down a second time on purpose: event, then where it leads from each state ("-": refused).
// An event with two ends has them as "usual/under its condition".
// clang-format off
constexpr const char* kExpected[][8] = {
    //  event     absent             scheduled    ready        running                completed  aborted   cancelled
    {"submit",    "ready/scheduled", "-",         "-",         "-",                   "-",       "-",      "-"},
    {"promote",   "-",               "ready",     "-",         "-",                   "-",       "-",      "-"},
    {"claim",     "-",               "-",         "running",   "-",                   "-",       "-",      "-"},
    {"heartbeat", "-",               "-",         "-",         "running",             "-",       "-",      "-"},
    {"complete",  "-",               "-",         "-",         "completed/scheduled", "-",       "-",      "-"},
    {"abort",     "-",               "-",         "-",         "aborted/scheduled",   "-",       "-",      "-"},
    {"yield",     "-",               "-",         "-",         "ready",               "-",       "-",      "-"},
    {"release",   "-",               "-",         "-",         "ready",               "-",       "-",      "-"},
    {"expire",    "-",               "-",         "-",         "ready/aborted",       "-",       "-",      "-"},
    {"cancel",    "-",               "cancelled", "cancelled", "cancelled",           "-",       "-",      "-"},
    {"purge",     "-",               "-",         "-",         "-",                   "absent",  "absent", "absent"},
};
// clang-format on

const std::map<Event, Condition> kConditionOf = {{Event::kSubmit, Condition::kDueLater},
                                                 {Event::kComplete, Condition::kRecurs},
                                                 {Event::kAbort, Condition::kRetried},
                                                 {Event::kExpire, Condition::kExhausted}};

// Where the event leads from `from`, in the notation of the table above.
std::string actual(Event event, std::optional<State> from) {
  const auto usual = next_state(kTask, event, from);
  if (!usual.ok()) return "-";
  std::string text = name(*usual);
  if (const auto condition = kConditionOf.find(event); condition != kConditionOf.end()) {
    text += "/" + name(next_state(kTask, event, from, condition->second).value());
  }
  return text;
}

TEST(State, EachEventInEachStateLeadsToItsState) {
  ASSERT_EQ(std::size(kExpected), kAllEvents.size());
  for (std::size_t e = 0; e < kAllEvents.size(); ++e) {
    ASSERT_EQ(to_string(kAllEvents[e]), kExpected[e][0]);
    const auto places = all_places();
    for (std::size_t p = 0; p < places.size(); ++p) {
      EXPECT_EQ(actual(kAllEvents[e], places[p]), kExpected[e][p + 1])
          << to_string(kAllEvents[e]) << " in " << name(places[p]);
    }
  }
}

TEST(State, EachRefusalNamesTheTaskItsStateAndTheAllowedStates) {
  const std::map<Event, std::string> allowed = {{Event::kPromote, "scheduled"},
                                                {Event::kClaim, "ready"},
                                                {Event::kHeartbeat, "running"},
                                                {Event::kComplete, "running"},
                                                {Event::kAbort, "running"},
                                                {Event::kYield, "running"},
                                                {Event::kRelease, "running"},
                                                {Event::kExpire, "running"},
                                                {Event::kCancel, "scheduled, ready or running"},
                                                {Event::kPurge, "completed, aborted or cancelled"}};
  int refusals = 0;
  for (const Event event : kAllEvents) {
    for (const State state : kAllStates) {
      for (const Condition condition :
           {Condition::kNone, kConditionOf.contains(event) ? kConditionOf.at(event) : Condition::kNone}) {
        const auto outcome = next_state(kTask, event, state, condition);
        EXPECT_EQ(outcome.ok(), is_allowed(event, state));
        if (outcome.ok()) continue;
        ++refusals;
        EXPECT_EQ(outcome.error().code, ErrorCode::kConflict);
        const std::string expected = event == Event::kSubmit
                                         ? "task " + to_string(kTask) + ": cannot submit: the task exists and is " +
                                               name(state) + "; use another id"
                                         : "task " + to_string(kTask) + ": cannot " + std::string(to_string(event)) +
                                               ": the task is " + name(state) + ", and must be " + allowed.at(event);
        EXPECT_EQ(outcome.error().message, expected);
      }
    }
  }
  EXPECT_EQ(refusals, 2 * (11 * 6 - 14));
}

TEST(State, AnEventOnAMissingTaskIsNotFound) {
  for (const Event event : kAllEvents) {
    if (event == Event::kSubmit) continue;
    const auto outcome = next_state(kTask, event, std::nullopt);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(outcome.error().message, HasSubstr(to_string(kTask)));
    EXPECT_THAT(outcome.error().message,
                HasSubstr("cannot " + std::string(to_string(event)) + ": there is no such task"));
  }
}

TEST(State, OnlyTheThreeEndsAreTerminal) {
  for (const State state : kAllStates) {
    const bool expected = state == State::kCompleted || state == State::kAborted || state == State::kCancelled;
    EXPECT_EQ(is_terminal(state), expected) << to_string(state);
  }
}

TEST(State, NoPairHasTwoRowsUnderOneCondition) {
  for (const Transition& a : transitions()) {
    int same = 0;
    for (const Transition& b : transitions()) {
      same += a.event == b.event && a.from == b.from && a.condition == b.condition;
    }
    EXPECT_EQ(same, 1) << to_string(a.event) << " in " << name(a.from);
  }
}

TEST(State, NamesReadBack) {
  for (const State state : kAllStates) EXPECT_EQ(parse_state(to_string(state)), state);
  EXPECT_EQ(parse_state("Ready"), std::nullopt);
  EXPECT_EQ(parse_state(""), std::nullopt);
}

TEST(StateDeathTest, AConditionOfAnotherEventIsABug) {
  EXPECT_DEATH((void)next_state(kTask, Event::kClaim, State::kReady, Condition::kRecurs), "no such condition");
}

}  // namespace
}  // namespace horae
