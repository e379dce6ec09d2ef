// The doctor on PostgreSQL.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/terminal/test_terminal.h"
#include "tests/support/postgres_server.h"

namespace horae::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class DoctorOnPostgres : public ::testing::Test {
 protected:
  DoctorOnPostgres() { terminal_.environment["HORAE_NODE"] = "http://127.0.0.1:1"; }

  TestTerminal terminal_;
};

TEST_F(DoctorOnPostgres, ChangesNothingAndReportsAGoodStore) {
  testing::PostgresServer server({.durable = true, .settings = {}});
  const auto fresh = terminal_.type({"doctor", "--store", server.url()});
  EXPECT_EQ(fresh.exit_code, kDone) << fresh.out;
  EXPECT_THAT(fresh.out, HasSubstr("horae migrate applies the migrations"));
  EXPECT_EQ(server.run_sql("SELECT to_regclass('task') IS NULL"), "t");

  ASSERT_EQ(terminal_.type({"migrate", "--store", server.url()}).exit_code, kDone);
  const auto ready = terminal_.type({"doctor", "--store", server.url()});
  EXPECT_EQ(ready.exit_code, kDone) << ready.out;
  EXPECT_THAT(ready.out, AllOf(HasSubstr("role horae may create, read and write its tables"), HasSubstr("up to date"),
                               HasSubstr("fsync, full_page_writes and synchronous_commit are on"),
                               HasSubstr("0 synchronous standbys"), HasSubstr("within 1s of the store's")));
}

TEST_F(DoctorOnPostgres, ReportsMissingPermissionsOfTheRole) {
  testing::PostgresServer server({.durable = true, .settings = {}});
  server.run_sql("CREATE ROLE guest LOGIN");
  const std::string url = "postgresql://guest@127.0.0.1:" + std::to_string(server.port()) + "/horae";
  const auto empty = terminal_.type({"doctor", "--store", url});  // only owners may create in public
  EXPECT_EQ(empty.exit_code, kFailed);
  EXPECT_THAT(empty.out, HasSubstr("role guest must be able to: create tables in schema public"));

  ASSERT_EQ(terminal_.type({"migrate", "--store", server.url()}).exit_code, kDone);
  server.run_sql("GRANT ALL ON SCHEMA public TO guest; GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest");
  const auto readable = terminal_.type({"doctor", "--store", url});
  EXPECT_EQ(readable.exit_code, kFailed);
  EXPECT_THAT(readable.out, AllOf(HasSubstr("role guest must be able to: own table "), HasSubstr("which is of horae"),
                                  HasSubstr(" more; GRANT it that"), Not(HasSubstr("create tables"))));

  server.run_sql("GRANT horae TO guest");  // a member of the owner has the owner's permissions
  const auto member = terminal_.type({"doctor", "--store", url});
  EXPECT_EQ(member.exit_code, kDone) << member.out;
}

// The clock of a machine that is set wrong.
class WrongClock final : public Clock {
 public:
  explicit WrongClock(Duration off) : off_(off) {}
  Instant wall_now() const override { return clock_.wall_now() + std::chrono::duration_cast<Instant::duration>(off_); }
  MonotonicTime now() const override { return clock_.now(); }

 private:
  const SystemClock clock_;
  const Duration off_;
};

TEST_F(DoctorOnPostgres, NotesClockSkew) {
  testing::PostgresServer server({.durable = true, .settings = {}});
  ASSERT_EQ(terminal_.type({"migrate", "--store", server.url()}).exit_code, kDone);
  const WrongClock ahead(std::chrono::hours(1));
  terminal_.clock = &ahead;
  const auto early = terminal_.type({"doctor", "--store", server.url()});
  EXPECT_EQ(early.exit_code, kDone) << early.out;
  EXPECT_THAT(early.out, ContainsRegex("this machine's clock is (1h|59m5).* ahead of the store's: set both by NTP"));
  const WrongClock behind(std::chrono::hours(-1));
  terminal_.clock = &behind;
  EXPECT_THAT(terminal_.type({"doctor", "--store", server.url()}).out,
              HasSubstr(" behind the store's: set both by NTP"));
}

TEST_F(DoctorOnPostgres, ReportsAServerThatIsNotDurable) {
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

TEST_F(DoctorOnPostgres, ReportsAnUnreachableServerWithoutThePassword) {
  testing::PostgresServer server({.durable = false, .settings = {}});
  server.stop();
  const auto printed = terminal_.type(
      {"doctor", "--store", "postgresql://horae:secret@127.0.0.1:" + std::to_string(server.port()) + "/horae"});
  EXPECT_EQ(printed.exit_code, kFailed);
  EXPECT_THAT(printed.out, AllOf(HasSubstr("cannot be reached"), Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace horae::cli
