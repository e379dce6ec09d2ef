#include "observe/live_event.h"

#include <gtest/gtest.h>

#include "base/uuid.h"

namespace horae {
namespace {

TEST(LiveEventText, ReadsBackWhatWasWritten) {
  const TaskId task = parse_uuid("0190f7c2-0a1b-7c3d-8e4f-0123456789ab").value();
  for (int state = 0; state < 6; ++state) {
    const LiveEvent event{.task = task, .state = static_cast<State>(state), .queue = state % 2 == 0 ? "mail" : ""};
    EXPECT_EQ(parse_event(format_event(event)), event);
  }
  EXPECT_EQ(format_event({.task = task, .state = State::kRunning, .queue = "mail"}),
            "2 0190f7c2-0a1b-7c3d-8e4f-0123456789ab mail");
}

TEST(LiveEventText, IsRefusedInAnyOtherForm) {
  for (const char* text : {"", "2", "2 ", "9 0190f7c2-0a1b-7c3d-8e4f-0123456789ab mail", "nonsense",
                           "2 0190f7c2-0a1b-7c3d-8e4f-0123456789ax mail", "2-0190f7c2-0a1b-7c3d-8e4f-0123456789ab mail",
                           "2 0190f7c2-0a1b-7c3d-8e4f-0123456789ab"}) {
    EXPECT_EQ(parse_event(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace horae
