// horae schedule.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"
#include "cli/terminal/test_terminal.h"
#include "http/test_server.h"

namespace horae::cli {
namespace {

using ::testing::HasSubstr;

class ScheduleCommands : public ::testing::Test {
 protected:
  ScheduleCommands() { terminal_.environment["HORAE_NODE"] = "http://127.0.0.1:" + std::to_string(server_.port()); }

  testing::ApiWorld world_;
  testing::TestServer server_{
      [this](HttpRequest request, const Responder& responder) { world_.api().handle(std::move(request), responder); }};
  TestTerminal terminal_;
};

TEST_F(ScheduleCommands, SetShowAndDelete) {
  EXPECT_THAT(terminal_.type({"schedule", "list"}).out, HasSubstr("no schedules"));
  const auto made = terminal_.type({"schedule", "set", "nightly", R"({"a":1})", "--queue", "mail", "--cron",
                                    "30 2 * * MON", "--zone", "Europe/Berlin", "--overlap", "allow"});
  ASSERT_EQ(made.exit_code, kDone) << made.err;
  EXPECT_THAT(made.out, HasSubstr("schedule nightly: at 02:30 on Monday, Europe/Berlin; next "));
  EXPECT_THAT(terminal_.type({"schedule", "get", "nightly"}).out, HasSubstr("overlap      allow"));
  EXPECT_THAT(terminal_.type({"schedule", "list"}).out, HasSubstr("at 02:30 on Monday"));
  EXPECT_THAT(terminal_.type({"schedule", "pause", "nightly"}).out, HasSubstr("; paused"));
  EXPECT_THAT(terminal_.type({"schedule", "list"}).out, HasSubstr("paused"));
  EXPECT_THAT(terminal_.type({"schedule", "resume", "nightly"}).out, HasSubstr("; next "));
  EXPECT_THAT(terminal_.type({"schedule", "fires", "nightly"}).out, HasSubstr("not fired yet"));
  EXPECT_THAT(terminal_.type({"schedule", "trigger", "nightly"}).out, HasSubstr("is ready"));
  EXPECT_EQ(terminal_.type({"schedule", "delete", "nightly"}).exit_code, kDone);
  const auto gone = terminal_.type({"schedule", "get", "nightly"});
  EXPECT_EQ(gone.exit_code, kFailed);
  EXPECT_THAT(gone.err, HasSubstr("there is none"));
}

TEST_F(ScheduleCommands, PreviewNeedsNoStoredSchedule) {
  const auto shown = terminal_.type({"schedule", "preview", "new", "--every", "90s", "--count", "2"});
  ASSERT_EQ(shown.exit_code, kDone) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("every 1m30s from 1970-01-01T00:00:00Z\n"));
  EXPECT_EQ(std::ranges::count(shown.out, '\n'), 3);
}

TEST_F(ScheduleCommands, AFaultNamesTheFlag) {
  const auto refused =
      terminal_.type({"schedule", "set", "nightly", "1", "--queue", "mail", "--every", "1s", "--catch-up", "0"});
  EXPECT_EQ(refused.exit_code, kMisused);
  EXPECT_THAT(refused.err, HasSubstr("--catch-up 0"));
}

}  // namespace
}  // namespace horae::cli
