// The real binary, as a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "base/version.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;

TEST(Cli, PrintsTheVersion) {
  Process horae({HORAE_BINARY, "--version"});
  EXPECT_EQ(horae.read_rest(), "horae " + std::string(version()) + "\n");
  EXPECT_EQ(horae.wait().exit_code, 0);
}

TEST(Cli, HelpListsTheCommands) {
  Process horae({HORAE_BINARY, "--help"});
  EXPECT_THAT(horae.read_rest(), HasSubstr("serve"));
  EXPECT_EQ(horae.wait().exit_code, 0);
}

TEST(Cli, FailsOnAnUnknownCommandAndNamesIt) {
  Process horae({HORAE_BINARY, "servve"});
  EXPECT_THAT(horae.read_rest(), HasSubstr("servve"));
  EXPECT_NE(horae.wait().exit_code, 0);
}

TEST(Cli, FailsWithoutACommandAndPointsToHelp) {
  Process horae({HORAE_BINARY});
  EXPECT_THAT(horae.read_rest(), HasSubstr("--help"));
  EXPECT_NE(horae.wait().exit_code, 0);
}

TEST(Cli, MigratePrintsItsStepsAndAppliesThemOnce) {
  const TemporaryFolder folder;
  const std::string store = "sqlite:" + folder.path() + "/horae.db";
  Process dry_run({HORAE_BINARY, "migrate", "--store", store, "--dry-run"});
  EXPECT_THAT(dry_run.read_rest(), HasSubstr("would apply 0001 tasks"));
  EXPECT_EQ(dry_run.wait().exit_code, 0);

  Process first({HORAE_BINARY, "migrate", "--store", store});
  EXPECT_THAT(first.read_rest(), HasSubstr("applied 0001 tasks"));
  EXPECT_EQ(first.wait().exit_code, 0);

  Process second({HORAE_BINARY, "migrate", "--store", store});
  EXPECT_THAT(second.read_rest(), HasSubstr("is up to date"));
  EXPECT_EQ(second.wait().exit_code, 0);
}

TEST(Cli, ServeFailsForGoodWithoutAFolderForItsData) {
  Process horae({HORAE_BINARY, "serve", "--http-listen", "127.0.0.1:0", "--data", "/proc/x"});
  EXPECT_THAT(horae.read_rest(), HasSubstr("cannot make the folder /proc/x"));
  EXPECT_EQ(horae.wait().exit_code, 1);  // 4 would promise that a repetition may succeed
}

TEST(Cli, ServeRefusesADemoThatNoSlotWouldRun) {
  const TemporaryFolder folder;
  Process horae(
      {HORAE_BINARY, "serve", "--http-listen", "127.0.0.1:0", "--data", folder.path(), "--demo", "--slots-count", "0"});
  EXPECT_THAT(horae.read_rest(), HasSubstr("--demo: the node's own slots run it"));
  EXPECT_EQ(horae.wait().exit_code, 2);
}

TEST(Cli, ServeLogsSubmitsClaimsAndEndsAtDebugLevel) {
  const TemporaryFolder folder;
  Process horae({HORAE_BINARY, "serve", "--http-listen", "127.0.0.1:0", "--data", folder.path(), "--demo",
                 "--log-level", "debug"});
  for (const std::string text : {" task submitted node=", " task claimed node=", " task completed node="}) {
    EXPECT_TRUE(horae.read_until(text)) << text;
  }
  horae.send_signal(SIGTERM);
  (void)horae.read_rest();
}

TEST(Cli, MigrateRefusesAnUnknownStore) {
  Process horae({HORAE_BINARY, "migrate", "--store", "mysql://x"});
  EXPECT_THAT(horae.read_rest(), HasSubstr("store 'mysql://x': give sqlite:PATH or postgresql://"));
  EXPECT_EQ(horae.wait().exit_code, 1);
}

class Serve : public ::testing::TestWithParam<int> {};

TEST_P(Serve, PrintsHowToStopItAndStopsCleanlyOnASignal) {
  const TemporaryFolder folder;
  Process horae(
      {HORAE_BINARY, "serve", "--http-listen", "127.0.0.1:0", "--store", "sqlite:" + folder.path() + "/horae.db"});
  ASSERT_TRUE(horae.read_until("Stop with Ctrl-C"));
  horae.send_signal(GetParam());
  EXPECT_THAT(horae.read_rest(), HasSubstr("horae stopped"));
  EXPECT_EQ(horae.wait().exit_code, 0);
}

TEST(Banner, ShowsEachAddressThatTheNodeListensOn) {
  const TemporaryFolder folder;
  Process horae({HORAE_BINARY, "serve", "--http-listen", "127.0.0.1:0,http://127.0.0.1:0", "--store",
                 "sqlite:" + folder.path() + "/horae.db"});
  ASSERT_TRUE(horae.read_until("is running"));
  EXPECT_THAT(horae.read_line().value_or(""), HasSubstr("  address  http://127.0.0.1:"));
  EXPECT_THAT(horae.read_line().value_or(""), HasSubstr("           http://127.0.0.1:"));
  horae.send_signal(SIGTERM);
  EXPECT_THAT(horae.read_rest(), HasSubstr("horae stopped"));
}

TEST(Demo, PrintsEventsOfItsTasksAndContinuesAfterARestart) {
  const TemporaryFolder folder;
  const std::vector<std::string> command = {HORAE_BINARY,
                                            "serve",
                                            "--demo",
                                            "--http-listen",
                                            "127.0.0.1:0",
                                            "--store",
                                            "sqlite:" + folder.path() + "/data/horae.db"};
  Process first(command);
  ASSERT_TRUE(first.read_until("running on worker-1"));
  ASSERT_TRUE(first.read_until("turn 1 is done"));
  ASSERT_TRUE(first.read_until("aborted after 3 tries: unsupported_spec"));
  first.send_signal(SIGINT);
  EXPECT_THAT(first.read_rest(), HasSubstr("horae stopped"));
  EXPECT_EQ(first.wait().exit_code, 0);

  Process second(command);  // continues the same recurring task instead of creating another
  ASSERT_TRUE(second.read_until("turn 2 is done"));
  second.send_signal(SIGTERM);
  EXPECT_THAT(second.read_rest(), HasSubstr("horae stopped"));
  EXPECT_EQ(second.wait().exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(Signals, Serve, ::testing::Values(SIGINT, SIGTERM),
                         [](const auto& each) { return each.param == SIGINT ? "SIGINT" : "SIGTERM"; });

}  // namespace
}  // namespace horae::testing
