// The real binary on a private PostgreSQL.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/postgres_server.h"
#include "tests/support/process.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MigratePostgres, PrintsItsStepsAndAppliesThemOnce) {
  PostgresServer server({.durable = false, .settings = {}});
  Process dry_run({HORAE_BINARY, "migrate", "--store", server.url(), "--dry-run"});
  EXPECT_THAT(dry_run.read_rest(), HasSubstr("would apply 0001 tasks"));
  EXPECT_EQ(dry_run.wait().exit_code, 0);
  EXPECT_EQ(server.run_sql("SELECT to_regclass('task') IS NULL"), "t");

  Process first({HORAE_BINARY, "migrate", "--store", server.url()});
  EXPECT_THAT(first.read_rest(), HasSubstr("applied 0001 tasks"));
  EXPECT_EQ(first.wait().exit_code, 0);
  EXPECT_EQ(server.run_sql("SELECT to_regclass('task') IS NULL"), "f");

  Process second({HORAE_BINARY, "migrate", "--store", server.url()});
  EXPECT_THAT(second.read_rest(), HasSubstr("is up to date"));
  EXPECT_EQ(second.wait().exit_code, 0);
}

TEST(MigratePostgres, NeverPrintsAPassword) {
  const PostgresServer server({.durable = false, .settings = {}});
  const std::string place = "@127.0.0.1:" + std::to_string(server.port()) + "/horae";
  Process in_user({HORAE_BINARY, "migrate", "--store", "postgresql://horae:secret" + place});
  EXPECT_THAT(in_user.read_rest(), AllOf(HasSubstr("horae:***@"), Not(HasSubstr("secret"))));
  EXPECT_EQ(in_user.wait().exit_code, 0);

  Process in_option({HORAE_BINARY, "migrate", "--store", "postgresql://horae" + place + "?password=secret"});
  EXPECT_THAT(in_option.read_rest(), AllOf(HasSubstr("is up to date"), Not(HasSubstr("secret"))));
  EXPECT_EQ(in_option.wait().exit_code, 0);
}

TEST(MigratePostgres, FailsClearlyWhenTheServerIsDown) {
  PostgresServer server({.durable = false, .settings = {}});
  server.stop();
  Process horae({HORAE_BINARY, "migrate", "--store", server.url()});
  EXPECT_THAT(horae.read_rest(), HasSubstr("PostgreSQL cannot be reached"));
  EXPECT_EQ(horae.wait().exit_code, 4);
}

}  // namespace
}  // namespace horae::testing
