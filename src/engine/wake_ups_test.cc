#include "engine/wake_ups.h"

#include <gmock/gmock.h>

#include <array>

namespace horae {
namespace {

using Kind = Change::Kind;

WakeUps of(const Change& change) { return wake_ups_of(std::span(&change, 1)); }

TEST(WakeUps, CountTheReadyTasksOfEachQueue) {
  const std::array<Change, 4> changes = {{{.event = Event::kSubmit, .queue = "mail", .state = State::kReady},
                                          {.event = Event::kSubmit, .queue = "work", .state = State::kReady},
                                          {.event = Event::kExpire, .queue = "mail", .state = State::kReady},
                                          {.event = Event::kExpire, .queue = "gone", .state = State::kAborted}}};
  EXPECT_EQ(wake_ups_of(changes), (WakeUps{.counted = {{"mail", 2}, {"work", 1}}}));
}

TEST(WakeUps, ReachEveryQueueWhenTheQueueIsUnknown) {
  EXPECT_EQ(of({.event = Event::kYield, .state = State::kReady}), (WakeUps{.ready_anywhere = true}));
}

TEST(WakeUps, FollowRepeatedCallsWhoseFirstAnswerMayHaveBeenLost) {
  EXPECT_EQ(of({.event = Event::kSubmit, .queue = "mail", .state = State::kReady, .is_new = false}),
            (WakeUps{.counted = {{"mail", 1}}}));
}

TEST(WakeUps, FollowPromotedTasks) {
  EXPECT_EQ(of({.kind = Kind::kTasks, .event = Event::kPromote, .queue = "mail", .state = State::kReady, .count = 3}),
            (WakeUps{.counted = {{"mail", 3}}}));
  EXPECT_EQ(of({.kind = Kind::kTasks, .event = Event::kPromote, .queue = "mail", .state = State::kReady, .count = 0}),
            (WakeUps{.ready = {"mail"}}));
}

TEST(WakeUps, FollowScheduledAndCancelledTasks) {
  EXPECT_EQ(of({.event = Event::kAbort, .state = State::kScheduled}), (WakeUps{.scheduled = true}));
  EXPECT_EQ(of({.event = Event::kCancel, .state = State::kCancelled}), (WakeUps{.cancelled = true}));
}

TEST(WakeUps, NameTheOwnersOfCancelledTasksOnce) {
  const std::array<Change, 3> changes = {{{.event = Event::kCancel, .owner = "worker-1", .state = State::kCancelled},
                                          {.event = Event::kCancel, .owner = "worker-1", .state = State::kCancelled},
                                          {.event = Event::kCancel, .owner = "worker-2", .state = State::kCancelled}}};
  EXPECT_EQ(wake_ups_of(changes), (WakeUps{.cancelled = true, .cancelled_owners = {"worker-1", "worker-2"}}));
}

TEST(WakeUps, AreNotNeededForTasksThatRunOrEnd) {
  EXPECT_EQ(of({.event = Event::kClaim, .queue = "mail", .state = State::kRunning}), WakeUps());
  EXPECT_EQ(of({.event = Event::kComplete, .state = State::kCompleted}), WakeUps());
  EXPECT_EQ(of({.kind = Kind::kTasks, .event = Event::kHeartbeat, .count = 8}), WakeUps());
  EXPECT_EQ(of({.kind = Kind::kTasks, .event = Event::kPurge, .count = 8}), WakeUps());
  EXPECT_EQ(of({.kind = Kind::kTokens}), WakeUps());
  EXPECT_EQ(of({.kind = Kind::kSchedules}), WakeUps{.scheduled = true});
}

TEST(WakeUps, FollowPausesAndResumes) {
  EXPECT_EQ(of({.kind = Kind::kClaims, .queue = "mail", .is_open = false}), (WakeUps{.control = true}));
  EXPECT_EQ(of({.kind = Kind::kClaims, .queue = "mail", .is_open = true}),
            (WakeUps{.ready = {"mail"}, .control = true}));
  EXPECT_EQ(of({.kind = Kind::kClaims, .is_open = false}), (WakeUps{.control = true}));
  EXPECT_EQ(of({.kind = Kind::kClaims, .is_open = true}), (WakeUps{.ready_anywhere = true, .control = true}));
}

TEST(WakeUps, FollowSettingsOfOpenQueues) {
  EXPECT_EQ(of({.kind = Kind::kQueue, .queue = "mail", .is_open = true}), (WakeUps{.ready = {"mail"}}));
  EXPECT_EQ(of({.kind = Kind::kQueue, .queue = "mail", .is_open = false}), WakeUps());
}

}  // namespace
}  // namespace horae
