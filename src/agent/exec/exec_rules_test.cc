#include "agent/exec/exec_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/temporary_folder.h"

namespace horae::agent {
namespace {

using ::testing::HasSubstr;

ExecRules rules_of(ExecOptions options, const ExecRules::Environment& environment = {{"PATH", "/usr/bin:/bin"}}) {
  if (::geteuid() == 0) options.user = "root";
  return ExecRules::make(options, environment).value();
}

TEST(ExecRules, AllowsProgramsWithAnyArguments) {
  const ExecRules rules = rules_of({.programs = {"/bin/echo"}});
  EXPECT_EQ(rules.program_of({"/bin/echo", "x"}).value(), "/bin/echo");
  EXPECT_EQ(rules.program_of({"echo"}).value(), "/bin/echo");
  for (const char* other : {"/usr/local/bin/echo", "./echo", "sh", "", "../bin/echo", "bin/echo"}) {
    EXPECT_EQ(rules.program_of({other}).error().code, ErrorCode::kForbidden) << other;
  }
}

TEST(ExecRules, AllowsCommandsExactlyAsTheyAre) {
  const ExecRules rules = rules_of({.commands = {"/bin/echo hello  you"}});
  EXPECT_TRUE(rules.program_of({"echo", "hello", "you"}).ok());
  EXPECT_FALSE(rules.program_of({"echo", "hello"}).ok());
  EXPECT_FALSE(rules.program_of({"echo", "hello", "you", "all"}).ok());
  EXPECT_FALSE(rules.program_of({"echo", "hello you"}).ok());
  EXPECT_FALSE(rules.allows_free_arguments());
}

TEST(ExecRules, AllowsNothingByDefault) {
  const ExecRules rules = rules_of({});
  EXPECT_FALSE(rules.allows_anything());
  EXPECT_THAT(rules.program_of({"true"}).error().message, HasSubstr("may not run \"true\""));
}

TEST(ExecRules, RefusesProgramsThatDoNotExistAtTheStart) {
  for (const char* name : {"/nonexistent", "no-such-program", "bin/sh", "", "/tmp"}) {
    EXPECT_FALSE(ExecRules::make({.programs = {name}, .user = ""}, {{"PATH", "/bin"}}).ok()) << name;
  }
  EXPECT_THAT(ExecRules::make({.user = "no-such-user"}, {}).error().message, HasSubstr("no-such-user"));
}

TEST(ExecRules, RequiresAUserIfTheAgentIsRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root";
  EXPECT_THAT(ExecRules::make({.programs = {"/bin/true"}}, {}).error().message, HasSubstr("root"));
  const ExecRules rules = ExecRules::make({.programs = {"/bin/true"}, .user = "nobody"}, {}).value();
  ASSERT_TRUE(rules.user());
  EXPECT_NE(rules.user()->user, 0U);
}

TEST(ExecRules, PassesOnlyNamedVariables) {
  const ExecRules rules =
      rules_of({.environment = {"LEVEL", "ABSENT"}},
               {{"PATH", "/bin"}, {"HOME", "/home/x"}, {"LANG", "C"}, {"LEVEL", "9"}, {"KEY", "k"}});
  EXPECT_FALSE(rules.environment().contains("KEY"));
  EXPECT_FALSE(rules.environment().contains("ABSENT"));
  EXPECT_EQ(rules.environment().at("LEVEL"), "9");
  EXPECT_EQ(rules.environment().at("LANG"), "C");
  EXPECT_EQ(rules.environment().at("PATH"), "/bin");
}

TEST(ExecRules, ReadsSecretsOnlyFromTheirFolder) {
  const horae::testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/key") << "s3cret\n";
  std::ofstream(folder.path() + "/empty") << "";
  const ExecRules rules = rules_of({.secrets = folder.path()});
  EXPECT_EQ(rules.secret("key").value(), "s3cret");
  for (const char* name : {"other", "", ".", "..", "../key", "empty", "/etc/hostname"}) {
    EXPECT_EQ(rules.secret(name).error().code, ErrorCode::kForbidden) << name;
  }
  EXPECT_FALSE(rules_of({}).secret("key").ok());
}

}  // namespace
}  // namespace horae::agent
