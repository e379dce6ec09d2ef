#include "observe/change_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/uuid.h"

namespace horae {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TaskId numbered(std::uint8_t last) {
  TaskId id;
  id.bytes.back() = last;
  return id;
}

std::string logged(const std::vector<Change>& changes, LogLevel level = LogLevel::kDebug) {
  std::ostringstream out;
  const ManualClock clock;
  ChangeLog log(Logger(out, clock, {.level = level}));
  log.on_changes(changes);
  return out.str();
}

TEST(ChangeLog, HasTheIdOfEachTaskThatIsSubmittedClaimedOrEnded) {
  const std::string text =
      logged({{.event = Event::kSubmit, .task = numbered(1), .queue = "mail", .state = State::kReady},
              {.event = Event::kClaim, .task = numbered(2), .queue = "mail", .state = State::kRunning},
              {.event = Event::kComplete, .task = numbered(3), .queue = "mail", .state = State::kScheduled}});
  EXPECT_THAT(text,
              AllOf(HasSubstr("DEBUG task submitted task=" + to_string(numbered(1)) + " queue=mail state=ready\n"),
                    HasSubstr("DEBUG task claimed task=" + to_string(numbered(2)) + " queue=mail state=running\n"),
                    HasSubstr("task completed task=" + to_string(numbered(3)) + " queue=mail state=scheduled\n")));
}

TEST(ChangeLog, LeavesOutWhatIsRepeatedAndHeartbeats) {
  EXPECT_EQ(logged({{.event = Event::kSubmit, .task = numbered(1), .state = State::kReady, .is_new = false},
                    {.event = Event::kHeartbeat, .task = numbered(1), .state = State::kRunning},
                    {.kind = Change::Kind::kTasks, .event = Event::kPurge, .count = 7}}),
            "");
}

TEST(ChangeLog, SaysNothingAboveDebugLevel) {
  EXPECT_EQ(logged({{.event = Event::kSubmit, .task = numbered(1), .state = State::kReady}}, LogLevel::kInfo), "");
}

}  // namespace
}  // namespace horae
