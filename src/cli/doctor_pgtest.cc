// The doctor at a PostgreSQL of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/test_terminal.h"
#include "tests/support/postgres_server.h"

namespace horae::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DoctorOnPostgres : public ::testing::Test {
 protected:
  DoctorOnPostgres() { terminal_.environment["HORAE_NODE"] = "http://127.0.0.1:1"; }

  TestTerminal terminal_;
};

TEST_F(DoctorOnPostgres, ChangesNothingAndThenFindsAllInOrder) {
  testing::PostgresServer server({.durable = true, .settings = {}});
  const auto fresh = terminal_.type({"doctor", "--store", server.url()});
  EXPECT_EQ(fresh.exit_code, kDone) << fresh.out;
  EXPECT_THAT(fresh.out, HasSubstr("horae migrate brings it there"));
  EXPECT_EQ(server.run_sql("SELECT to_regclass('task') IS NULL"), "t");

  ASSERT_EQ(terminal_.type({"migrate", "--store", server.url()}).exit_code, kDone);
  const auto ready = terminal_.type({"doctor", "--store", server.url()});
  EXPECT_EQ(ready.exit_code, kDone) << ready.out;
  EXPECT_THAT(ready.out,
              AllOf(HasSubstr("up to date"), HasSubstr("fsync, full_page_writes and synchronous_commit are on"),
                    HasSubstr("0 synchronous standbys"), HasSubstr("within 1s of the store's")));
}

TEST_F(DoctorOnPostgres, FindsAServerThatIsNotDurable) {
  testing::PostgresServer server({.durable = false, .settings = {}});
  ASSERT_EQ(terminal_.type({"migrate", "--store", server.url()}).exit_code, kDone);
  const auto printed = terminal_.type({"doctor", "--store", server.url()});
  EXPECT_EQ(printed.exit_code, kFailed);
  EXPECT_THAT(printed.out, HasSubstr("= off: a crash of the server would lose acknowledged tasks"));
  const auto allowed = terminal_.type(
      {"doctor", "--store", server.url(), "--postgres-allow-unsafe", "fsync,full_page_writes,synchronous_commit"});
  EXPECT_EQ(allowed.exit_code, kDone) << allowed.out;
  EXPECT_THAT(allowed.out, HasSubstr("these may be off"));
}

TEST_F(DoctorOnPostgres, SaysThatTheServerIsAwayWithoutAPassword) {
  testing::PostgresServer server({.durable = false, .settings = {}});
  server.stop();
  const auto printed = terminal_.type(
      {"doctor", "--store", "postgresql://horae:secret@127.0.0.1:" + std::to_string(server.port()) + "/horae"});
  EXPECT_EQ(printed.exit_code, kFailed);
  EXPECT_THAT(printed.out, AllOf(HasSubstr("cannot be reached"), Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace horae::cli
