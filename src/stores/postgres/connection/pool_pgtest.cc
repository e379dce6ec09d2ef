#include "stores/postgres/connection/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stores/postgres/test_database.h"
#include "tests/support/postgres_server.h"

namespace horae::postgres {
namespace {

using horae::testing::PgBouncer;
using std::literals::operator""s;

class PoolTest : public TestDatabase {};

// The text as a statement of its own name.
Sql as_sql(std::string text) { return {text, text}; }

const Sql kEndMyself = as_sql("SELECT pg_terminate_backend(pg_backend_pid())");
const Sql kInsert = as_sql("INSERT INTO t VALUES ($1)");

// Inserts a number, in one trip.
Result<int> insert(Pool& pool, int number) {
  return pool.transact<int>([&](Transaction& transaction) -> Result<int> {
    transaction.send(kInsert, Params::of(std::int32_t{number}));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return number;
  });
}

TEST_F(PoolTest, ReplacesConnectionsThatDiedWhileTheyWereIdle) {
  ask("CREATE TABLE t (x int)");
  Pool pool(url(), 2);
  EXPECT_TRUE(insert(pool, 1).ok());
  ask("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
      "pg_backend_pid()");
  EXPECT_TRUE(insert(pool, 2).ok());
  EXPECT_EQ(ask("SELECT count(*) FROM t"), "2");
}

// A server that crashes says no word.
TEST_F(PoolTest, ReplacesConnectionsToAServerThatCrashed) {
  horae::testing::PostgresServer crashing({.durable = false, .settings = {}});
  crashing.run_sql("CREATE TABLE t (x int)");
  crashing.run_sql("CHECKPOINT");
  Pool pool(crashing.url(), 1);
  EXPECT_TRUE(insert(pool, 1).ok());
  crashing.kill_hard();
  EXPECT_EQ(insert(pool, 2).error().code, ErrorCode::kUnavailable);
  crashing.start();
  EXPECT_TRUE(insert(pool, 3).ok());
  crashing.kill_hard();
  crashing.start();
  EXPECT_TRUE(insert(pool, 4).ok());
}

TEST_F(PoolTest, RepeatsATransactionWhoseConnectionWasLost) {
  ask("CREATE TABLE t (x int)");
  Pool pool(url(), 1);
  // In between, and in one pipeline with COMMIT, which the server then has not seen.
  for (const bool wait : {true, false}) {
    int runs = 0;
    const auto done = pool.transact<int>([&](Transaction& transaction) -> Result<int> {
      transaction.send(kInsert, Params::of(std::int32_t{++runs}));
      if (runs == 1) transaction.send(kEndMyself);
      if (wait && !transaction.wait()) return transaction.failure()->error;
      if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
      return runs;
    });
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(*done, 2);
  }
  EXPECT_EQ(ask("SELECT string_agg(x::text, ' ') FROM t"), "2 2");
}

TEST_F(PoolTest, RepeatsAfterALossOnlyOnce) {
  Pool pool(url(), 1);
  int runs = 0;
  const auto done = pool.transact<int>([&](Transaction& transaction) -> Result<int> {
    ++runs;
    transaction.run(kEndMyself);
    return transaction.failure()->error;
  });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(done.error().message, ::testing::HasSubstr("terminating connection"));
  EXPECT_EQ(runs, 2);
}

TEST_F(PoolTest, DoesNotRepeatALossThatMayHaveComeAfterCommit) {
  ask("CREATE TABLE t (x int);"
      "CREATE FUNCTION end_myself() RETURNS trigger LANGUAGE plpgsql AS"
      " 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';"
      "CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
      " EXECUTE FUNCTION end_myself()");
  Pool pool(url(), 1);
  int runs = 0;
  const auto done = pool.transact<int>([&](Transaction& transaction) -> Result<int> {
    ++runs;
    transaction.send(kInsert, Params::of(std::int32_t{1}));
    auto committed = transaction.commit();
    EXPECT_TRUE(transaction.failure()->lost);
    EXPECT_TRUE(transaction.failure()->commit_sent);
    return committed.error();
  });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(runs, 1);
  ask("DROP TRIGGER at_commit ON t");
  EXPECT_TRUE(insert(pool, 2).ok());
}

TEST_F(PoolTest, RepeatsAfterADeadlock) {
  ask("CREATE TABLE t (x int PRIMARY KEY, n int NOT NULL); INSERT INTO t VALUES (1, 0), (2, 0)");
  Pool pool(url(), 2);
  std::barrier both_have_one(2);
  std::atomic<int> runs = 0;
  const auto add_in_order = [&](std::vector<std::int32_t> order) {
    bool first = true;
    const auto done = pool.transact<int>([&](Transaction& transaction) -> Result<int> {
      ++runs;
      const Sql add = as_sql("UPDATE t SET n = n + 1 WHERE x = $1");
      transaction.run(add, Params::of(order[0]));
      if (std::exchange(first, false)) both_have_one.arrive_and_wait();
      transaction.run(add, Params::of(order[1]));
      if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
      return 0;
    });
    EXPECT_TRUE(done.ok()) << done.error().message;
  };
  std::thread other([&] { add_in_order({2, 1}); });
  add_in_order({1, 2});
  other.join();
  EXPECT_GE(runs, 3);
  EXPECT_EQ(ask("SELECT string_agg(n::text, ' ') FROM t"), "2 2");
}

// Refuses the first `times` rows with a serialization failure, as they come or at COMMIT. The sequence remembers what
// was rolled back.
constexpr const char* kRefuseFirst =
    "CREATE TABLE t (x int); CREATE SEQUENCE asked;"
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
    " 'BEGIN IF nextval(''asked'') <= TG_ARGV[0]::int THEN RAISE serialization_failure; END IF; RETURN NEW; END';";
constexpr const char* kAtOnce = "CREATE TRIGGER refuse BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION refuse";
constexpr const char* kAtCommit =
    "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
    " EXECUTE FUNCTION refuse";

TEST_F(PoolTest, RepeatsAfterASerializationFailure) {
  ask(std::string(kRefuseFirst) + kAtOnce + "(2)");
  Pool pool(url(), 1);
  const auto inserted = insert(pool, 7);
  EXPECT_TRUE(inserted.ok()) << inserted.error().message;
  EXPECT_EQ(ask("SELECT string_agg(x::text, ' ') FROM t"), "7");
  EXPECT_EQ(ask("SELECT last_value FROM asked"), "3");
}

TEST_F(PoolTest, RepeatsAfterASerializationFailureAtCommit) {
  ask(std::string(kRefuseFirst) + kAtCommit + "(2)");
  Pool pool(url(), 1);
  const auto inserted = insert(pool, 7);
  EXPECT_TRUE(inserted.ok()) << inserted.error().message;
  EXPECT_EQ(ask("SELECT string_agg(x::text, ' ') FROM t"), "7");
  EXPECT_EQ(ask("SELECT last_value FROM asked"), "3");
}

TEST_F(PoolTest, RepeatsAfterSerializationFailuresOnlyAFewTimes) {
  ask(std::string(kRefuseFirst) + kAtOnce + "(1000)");
  Pool pool(url(), 1);
  EXPECT_EQ(insert(pool, 7).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(ask("SELECT last_value FROM asked"), "10");
  EXPECT_EQ(ask("SELECT count(*) FROM t"), "0");
}

TEST_F(PoolTest, ABodyMayReturnSuccessAfterAFailureThatItNoticed) {
  Pool pool(url(), 1);
  const auto done = pool.transact<std::string>([&](Transaction& transaction) -> Result<std::string> {
    transaction.send(as_sql("SELECT 1 / 0"));
    if (!transaction.commit().ok()) return transaction.failure()->sqlstate;
    return ""s;
  });
  EXPECT_EQ(done.value(), "22012");
}

TEST_F(PoolTest, AnErrorThatWasOverlookedIsNoSuccess) {
  Pool pool(url(), 1);
  int runs = 0;
  const auto done = pool.look<int>([&](Transaction& transaction) -> Result<int> {
    ++runs;
    return transaction.run(as_sql("SELECT 1 / 0")).size();
  });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kInternal);
  EXPECT_EQ(runs, 1);
}

TEST_F(PoolTest, NoMoreConnectionsThanAllowed) {
  Pool pool(url(), 3);
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      const auto done = pool.with_connection<int>([&](Connection& connection) -> Result<int> {
        const int count = ++now;
        for (int seen = most; seen < count && !most.compare_exchange_weak(seen, count);) {
        }
        EXPECT_TRUE(connection.run_alone("SELECT pg_sleep(0.02)").ok());
        --now;
        return 0;
      });
      EXPECT_TRUE(done.ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 3);
}

TEST_F(PoolTest, AConnectionThatCannotBeMadeIsGivenBack) {
  Pool pool(test_server().url("no_such_database"), 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(insert(pool, i).error().code, ErrorCode::kUnavailable);
}

TEST_F(PoolTest, WorksBehindAPoolerThatKeepsNoSessions) {
  ask("CREATE TABLE t (x int)");
  ask("ALTER DATABASE " + name() + " SET timezone = 'Asia/Tokyo'");
  const PgBouncer pooler(test_server());
  Pool pool(pooler.url_of(url()), 4);
  const auto settings = pool.transact<std::string>([&](Transaction& transaction) -> Result<std::string> {
    return transaction.run(as_sql("SELECT current_setting('timezone') || ' ' || current_setting('jit')"))[0].text(0);
  });
  EXPECT_EQ(settings.value(), "UTC off");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int number = 0; number < 20; ++number) EXPECT_TRUE(insert(pool, number).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ask("SELECT count(*) FROM t"), "80");
  const auto pooled = pool.with_connection<bool>([](Connection& each) -> Result<bool> { return each.pooled(); });
  EXPECT_TRUE(pooled.value());
  const auto failed = pool.transact<int>([&](Transaction& transaction) -> Result<int> {
    transaction.send(as_sql("SELECT 1 / 0"));
    return transaction.commit().error();
  });
  EXPECT_FALSE(failed.ok());
  EXPECT_TRUE(insert(pool, 1).ok());
}

}  // namespace
}  // namespace horae::postgres
