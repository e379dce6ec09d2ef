// Opening the store. What all stores do is in tests/store_contract.
#include "stores/postgres/postgres_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time_text.h"
#include "base/uuid.h"
#include "stores/postgres/test_database.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"

namespace horae::postgres {
namespace {

using horae::testing::PostgresServer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using std::literals::operator""h;
using std::literals::operator""us;

const std::vector<std::string> kUnsafe = {"fsync", "full_page_writes", "synchronous_commit"};

class PostgresStoreTest : public TestDatabase {
 protected:
  bool is_empty() { return ask("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace") == "0"; }
};

Error error_of(const std::string& url, std::vector<std::string> allowed = kUnsafe) {
  auto opened = open_postgres_store(url, {.allow_unsafe = std::move(allowed)});
  return opened.ok() ? Error{ErrorCode::kInternal, "there was no error"} : std::move(opened).error();
}

// ---- Opening ----

TEST_F(PostgresStoreTest, RefusesAServerThatIsNotDurableAndNamesTheSetting) {
  for (const std::string& named : kUnsafe) {
    std::vector<std::string> others = kUnsafe;
    std::erase(others, named);
    const Error error = error_of(url(), others);
    EXPECT_EQ(error.code, ErrorCode::kRefused);
    EXPECT_THAT(error.message, HasSubstr(named + " = off"));
    EXPECT_TRUE(is_empty()) << "it was changed before it was refused";
  }
  EXPECT_TRUE(open_postgres_store(url(), {.allow_unsafe = kUnsafe}).ok());
}

TEST_F(PostgresStoreTest, ChecksSettingsOfTheDatabaseAsWell) {
  ask("ALTER DATABASE " + name() + " SET synchronous_commit = on");
  EXPECT_TRUE(open_postgres_store(url(), {.allow_unsafe = {"fsync", "full_page_writes"}}).ok());
}

// A fail-over may lead to a server that is not durable. The calls are not at fault, so they may be repeated.
TEST_F(PostgresStoreTest, ChecksDurabilityOnEachNewConnection) {
  const auto set_commits = [this](const std::string& value) {
    ask("ALTER DATABASE " + name() + " SET synchronous_commit = " + value);
    ask("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
        "pg_backend_pid()");
  };
  set_commits("on");
  const auto store = std::move(open_postgres_store(url(), {.allow_unsafe = {"fsync", "full_page_writes"}})).value();
  EXPECT_TRUE(store->queues().new_worker_id().ok());
  set_commits("off");
  for (int i = 0; i < 20; ++i) {  // more often than there are connections
    const auto refused = store->queues().new_worker_id();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr("synchronous_commit = off"), HasSubstr("allow_unsafe")));
  }
  set_commits("on");
  EXPECT_TRUE(store->queues().new_worker_id().ok());
}

TEST_F(PostgresStoreTest, ADatabaseThatIsNotUtf8IsRefused) {
  const std::string latin = name() + "_latin";
  test_server().run_sql("CREATE DATABASE " + latin + " ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0", "postgres");
  const Error error = error_of(test_server().url(latin));
  EXPECT_EQ(error.code, ErrorCode::kRefused);
  EXPECT_THAT(error.message, AllOf(HasSubstr("LATIN1"), HasSubstr("UTF8")));
  test_server().drop_database(test_server().url(latin));
}

TEST_F(PostgresStoreTest, ADatabaseOfANewerHoraeIsRefused) {
  ASSERT_TRUE(migrate_postgres(url(), false).ok());
  ask("UPDATE horae_version SET version = 1000");
  const Error error = error_of(url());
  EXPECT_EQ(error.code, ErrorCode::kRefused);
  EXPECT_THAT(error.message, HasSubstr("1000"));
}

TEST_F(PostgresStoreTest, ReportsAnUnreachableServer) {
  const horae::testing::ReservedPort nobody;
  const std::string port = std::to_string(nobody.number());
  const Error error = error_of("postgresql://horae@127.0.0.1:" + port + "/horae");
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message,
              AllOf(StartsWith("PostgreSQL cannot be reached"), HasSubstr(port), HasSubstr("Connection refused")));
}

TEST_F(PostgresStoreTest, TlsOptionsReachLibpq) {
  const Error error = error_of(url() + "?sslmode=require");
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("does not support SSL"));
}

TEST_F(PostgresStoreTest, ManyNodesOpenAnEmptyDatabaseTogether) {
  constexpr int kNodes = 8;
  std::barrier all_started(kNodes);
  std::vector<std::thread> threads;
  for (int i = 0; i < kNodes; ++i) {
    threads.emplace_back([&] {
      all_started.arrive_and_wait();
      const auto store = open_postgres_store(url(), {.allow_unsafe = kUnsafe});
      ASSERT_TRUE(store.ok()) << store.error().message;
      EXPECT_TRUE((*store)->queues().new_worker_id().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ask("SELECT count(*) FROM day"), "4");
}

TEST_F(PostgresStoreTest, DescribesItself) {
  const auto store = std::move(open_postgres_store(url(), {.allow_unsafe = kUnsafe})).value();
  EXPECT_EQ(store->description(),
            "postgresql " + ask("SHOW server_version") + " database " + name() + ", 0 synchronous standbys");
}

TEST_F(PostgresStoreTest, AProbeOfWritesFindsAFullDiskAndLeavesNothing) {
  const auto store = std::move(open_postgres_store(url(), {.allow_unsafe = kUnsafe})).value();
  EXPECT_TRUE(store->probe_writes().ok());
  EXPECT_EQ(ask("SELECT count(*) FROM pg_class WHERE relname = 'horae_probe'"), "0");

  // What the server says when a new table finds no room.
  ask("CREATE FUNCTION no_room() RETURNS event_trigger LANGUAGE plpgsql AS"
      " $$BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END$$;"
      "CREATE EVENT TRIGGER full_disk ON ddl_command_start WHEN tag IN ('CREATE TABLE AS') EXECUTE FUNCTION no_room()");
  const auto refused = store->probe_writes();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("No space left on device"));
  ask("DROP EVENT TRIGGER full_disk");
  EXPECT_TRUE(store->probe_writes().ok());

  ask("REVOKE TEMPORARY ON DATABASE " + name() + " FROM PUBLIC; REVOKE TEMPORARY ON DATABASE " + name() +
      " FROM horae");
  EXPECT_TRUE(store->probe_writes().ok()) << "a role without that right cannot find out";
}

TEST(PostgresStandbyTest, TheDescriptionCountsSynchronousStandbys) {
  PostgresServer primary({.durable = false, .settings = {}});
  const auto quick = primary.make_standby(false);
  const auto standby = primary.make_standby(true);
  const auto store = std::move(open_postgres_store(primary.url(), {.allow_unsafe = kUnsafe})).value();
  EXPECT_THAT(store->description(), HasSubstr("database horae, 1 synchronous standby"));
}

}  // namespace
}  // namespace horae::postgres
