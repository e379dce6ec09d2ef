#include "model/settle.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace horae {
namespace {

constexpr std::array kSettleEvents = {Event::kHeartbeat, Event::kComplete, Event::kAbort, Event::kYield,
                                      Event::kRelease};

Holding running(int attempt, std::string owner, std::optional<AttemptEnd> before = std::nullopt) {
  return {.state = State::kRunning, .attempt = attempt, .owner = std::move(owner), .ended = std::move(before)};
}

Holding not_running(State state, int attempt, std::optional<AttemptEnd> ended = std::nullopt) {
  return {.state = state, .attempt = attempt, .owner = "", .ended = std::move(ended)};
}

TEST(Judge, ATaskThatIsNotThereIsNotFound) {
  for (const Event event : kSettleEvents) EXPECT_EQ(judge(std::nullopt, event, 1, "worker-1"), Verdict::kNotFound);
}

TEST(Judge, TheOwnerOfTheRunningAttemptIsAccepted) {
  for (const Event event : kSettleEvents)
    EXPECT_EQ(judge(running(2, "worker-1"), event, 2, "worker-1"), Verdict::kAccepted);
}

TEST(Judge, AnotherAttemptOrAnotherOwnerIsStaleWhileTheTaskRuns) {
  for (const Event event : kSettleEvents) {
    EXPECT_EQ(judge(running(2, "worker-2"), event, 1, "worker-1"), Verdict::kStaleAttempt);
    EXPECT_EQ(judge(running(2, "worker-2"), event, 2, "worker-1"), Verdict::kStaleAttempt);
    EXPECT_EQ(judge(running(2, "worker-2"), event, 1, "worker-2"), Verdict::kStaleAttempt);
    EXPECT_EQ(judge(running(2, "worker-2"), event, 3, "worker-2"), Verdict::kStaleAttempt);
  }
}

TEST(Judge, ASettlementOfACancelledTaskIsCancelled) {
  for (const Event event : kSettleEvents) {
    EXPECT_EQ(judge(not_running(State::kCancelled, 1), event, 1, "worker-1"), Verdict::kCancelled);
    EXPECT_EQ(judge(not_running(State::kCancelled, 3), event, 1, "worker-1"), Verdict::kCancelled);
  }
}

TEST(Judge, TheSameEndOfTheSameAttemptByTheSameOwnerIsARepetition) {
  for (const Event event : {Event::kComplete, Event::kAbort, Event::kYield, Event::kRelease}) {
    const AttemptEnd end{event, "worker-1"};
    for (const State state : kAllStates) {
      if (state == State::kRunning) continue;
      EXPECT_EQ(judge(not_running(state, 4, end), event, 4, "worker-1"), Verdict::kRepeated);
    }
    EXPECT_EQ(judge(running(5, "worker-2", end), event, 4, "worker-1"), Verdict::kRepeated);
  }
}

TEST(Judge, AnotherEndAnotherOwnerOrAnotherAttemptIsNoRepetition) {
  const AttemptEnd completed{Event::kComplete, "worker-1"};
  EXPECT_EQ(judge(not_running(State::kCompleted, 4, completed), Event::kAbort, 4, "worker-1"), Verdict::kWrongState);
  EXPECT_EQ(judge(not_running(State::kCompleted, 4, completed), Event::kComplete, 4, "worker-2"), Verdict::kWrongState);
  EXPECT_EQ(judge(not_running(State::kCompleted, 4, completed), Event::kComplete, 3, "worker-1"),
            Verdict::kStaleAttempt);
  EXPECT_EQ(judge(running(5, "worker-1", completed), Event::kComplete, 5, "worker-1"), Verdict::kAccepted);
  EXPECT_EQ(judge(running(6, "worker-1", completed), Event::kComplete, 4, "worker-1"), Verdict::kStaleAttempt);
}

TEST(Judge, AnAttemptThatExpiredIsOver) {
  const AttemptEnd expired{Event::kExpire, "worker-1"};
  EXPECT_EQ(judge(not_running(State::kReady, 1, expired), Event::kComplete, 1, "worker-1"), Verdict::kWrongState);
  EXPECT_EQ(judge(running(2, "worker-2", expired), Event::kComplete, 1, "worker-1"), Verdict::kStaleAttempt);
}

TEST(Judge, AnAttemptThatNeverBeganIsTheWrongState) {
  EXPECT_EQ(judge(not_running(State::kReady, 0), Event::kComplete, 1, "worker-1"), Verdict::kWrongState);
  EXPECT_EQ(judge(not_running(State::kScheduled, 0), Event::kHeartbeat, 0, "worker-1"), Verdict::kWrongState);
}

TEST(Judge, OnlyAcceptedAndRepeatedAreSuccess) {
  EXPECT_TRUE(is_success(Verdict::kAccepted));
  EXPECT_TRUE(is_success(Verdict::kRepeated));
  for (const Verdict verdict :
       {Verdict::kNotFound, Verdict::kStaleAttempt, Verdict::kCancelled, Verdict::kWrongState}) {
    EXPECT_FALSE(is_success(verdict)) << to_string(verdict);
  }
}

}  // namespace
}  // namespace horae
