// The real binary, started as a person would.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "base/version.h"
#include "tests/support/process.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;

TEST(Cli, VersionSaysTheVersion) {
  Process horae({HORAE_BINARY, "--version"});
  EXPECT_EQ(horae.read_rest(), "horae " + std::string(version()) + "\n");
  EXPECT_EQ(horae.wait().exit_code, 0);
}

TEST(Cli, HelpNamesTheCommands) {
  Process horae({HORAE_BINARY, "--help"});
  EXPECT_THAT(horae.read_rest(), HasSubstr("serve"));
  EXPECT_EQ(horae.wait().exit_code, 0);
}

TEST(Cli, AnUnknownCommandFailsAndIsNamed) {
  Process horae({HORAE_BINARY, "servve"});
  EXPECT_THAT(horae.read_rest(), HasSubstr("servve"));
  EXPECT_NE(horae.wait().exit_code, 0);
}

TEST(Cli, NoCommandFailsAndPointsToHelp) {
  Process horae({HORAE_BINARY});
  EXPECT_THAT(horae.read_rest(), HasSubstr("--help"));
  EXPECT_NE(horae.wait().exit_code, 0);
}

class Serve : public ::testing::TestWithParam<int> {};

TEST_P(Serve, TellsHowToStopItAndStopsCleanlyOnASignal) {
  Process horae({HORAE_BINARY, "serve"});
  ASSERT_TRUE(horae.read_until("Stop it with Ctrl-C"));
  horae.send_signal(GetParam());
  EXPECT_THAT(horae.read_rest(), HasSubstr("horae stopped"));
  EXPECT_EQ(horae.wait().exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(Signals, Serve, ::testing::Values(SIGINT, SIGTERM),
                         [](const auto& each) { return each.param == SIGINT ? "SIGINT" : "SIGTERM"; });

}  // namespace
}  // namespace horae::testing
