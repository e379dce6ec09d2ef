#include "tests/support/postgres_server.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <memory>
#include <string>

#include "tests/support/server_process.h"

namespace horae::testing {
namespace {

struct Finish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(PGresult* result) const { PQclear(result); }
};
using Connection = std::unique_ptr<PGconn, Finish>;

Connection connect(const std::string& url) { return Connection(PQconnectdb(url.c_str())); }

// The first value of the result, or the error message.
std::string query(const Connection& connection, const std::string& sql) {
  const std::unique_ptr<PGresult, Finish> result(PQexec(connection.get(), sql.c_str()));
  if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) return "";
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) return PQerrorMessage(connection.get());
  return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

std::string query(const std::string& url, const std::string& sql) { return query(connect(url), sql); }

TEST(PostgresServer, AcceptsConnectionsAtItsUrl) {
  PostgresServer server({.durable = false, .settings = {"max_connections = 33"}});

  EXPECT_EQ(query(server.url(), "SELECT current_database() || ' ' || current_user"), "horae horae");
  EXPECT_EQ(query(server.url(), "SHOW max_connections"), "33");
  EXPECT_EQ(query(server.url(), "SHOW fsync"), "off");
  EXPECT_EQ(server.run_sql("SELECT 7"), "7");
  EXPECT_EQ(server.run_sql("SELECT 7 WHERE false"), "");
}

TEST(PostgresServer, IsDurableByDefault) {
  PostgresServer server;

  EXPECT_EQ(server.run_sql("SELECT string_agg(setting, ' ') FROM pg_settings "
                           "WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')"),
            "on on on");
}

TEST(PostgresServer, MakesCopiesAndDropsDatabases) {
  PostgresServer server({.durable = false, .settings = {}});
  const std::string first = server.make_database();
  const std::string second = server.make_database();
  EXPECT_NE(first, second);
  query(first, "CREATE TABLE kept (x int); INSERT INTO kept VALUES (5)");

  const std::string copy = server.copy_database(first);
  query(first, "DELETE FROM kept");
  EXPECT_EQ(query(copy, "SELECT x FROM kept"), "5");
  EXPECT_EQ(query(second, "SELECT to_regclass('kept') IS NULL"), "t");

  const Connection guest = connect(first);
  server.drop_database(first);
  EXPECT_EQ(server.run_sql("SELECT count(*) FROM pg_database WHERE datname LIKE 'test\\_%' OR datname LIKE 'copy\\_%'"),
            "2");
  EXPECT_NE(query(guest, "SELECT 1"), "1");
}

TEST(PostgresServer, KeepsItsDataAndUrlWhenStopped) {
  PostgresServer server({.durable = false, .settings = {}});
  const std::string url = server.url();
  query(url, "CREATE TABLE kept AS SELECT 5 AS x");

  server.stop();
  server.stop();
  EXPECT_EQ(PQping(url.c_str()), PQPING_NO_RESPONSE);

  server.start();
  EXPECT_EQ(query(url, "SELECT x FROM kept"), "5");
}

TEST(PostgresServer, KeepsWhatWasCommittedWhenKilledHard) {
  PostgresServer server;
  query(server.url(), "CREATE TABLE kept (x int)");

  for (int round = 1; round <= 3; ++round) {
    query(server.url(), "INSERT INTO kept VALUES (1)");
    const Connection busy = connect(server.url());
    query(busy, "BEGIN");
    query(busy, "INSERT INTO kept VALUES (100)");
    // Busy for so long that the backend would not notice for minutes that its server is gone.
    ASSERT_EQ(PQsendQuery(busy.get(), "SELECT count(*) FROM generate_series(1, 1e10)"), 1);

    server.kill_hard();
    EXPECT_EQ(PQconsumeInput(busy.get()), 0) << "a process of the server is still running";
    EXPECT_EQ(PQping(server.url().c_str()), PQPING_NO_RESPONSE);

    server.start();
    EXPECT_EQ(query(server.url(), "SELECT sum(x) FROM kept"), std::to_string(round));
  }
}

TEST(PostgresServer, WaitsForItsSynchronousStandby) {
  PostgresServer primary({.durable = false, .settings = {}});
  const auto standby = primary.make_standby(true);
  query(primary.url(), "CREATE TABLE kept (x int)");

  standby->stop();
  const Connection writer = connect(primary.url());
  ASSERT_EQ(PQsendQuery(writer.get(), "INSERT INTO kept VALUES (5)"), 1);
  const std::string waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  EXPECT_TRUE(wait_until([&] { return primary.run_sql(waits) == "1"; }));

  standby->start();
  const std::unique_ptr<PGresult, Finish> written(PQgetResult(writer.get()));
  EXPECT_EQ(PQresultStatus(written.get()), PGRES_COMMAND_OK);
}

TEST(PostgresServer, PromotedStandbyHasAllCommitsAndAcceptsWrites) {
  PostgresServer primary;
  const auto standby = primary.make_standby(true);
  const auto other = primary.make_standby(true);
  query(primary.url(), "CREATE TABLE kept AS SELECT 5 AS x");
  EXPECT_EQ(query(standby->url(), "SELECT pg_is_in_recovery()"), "t");

  primary.kill_hard();
  for (const auto& heir : {standby.get(), other.get()}) {
    heir->promote();
    EXPECT_EQ(query(heir->url(), "SELECT x FROM kept"), "5");
    EXPECT_EQ(query(heir->url(), "INSERT INTO kept VALUES (6) RETURNING x"), "6");
    EXPECT_EQ(query(heir->make_database(), "SELECT 1"), "1");
  }
}

TEST(PostgresServer, AsynchronousStandbyFollowsWithoutDelayingCommits) {
  PostgresServer primary({.durable = false, .settings = {}});
  const auto standby = primary.make_standby(false);
  query(primary.url(), "CREATE TABLE kept AS SELECT 5 AS x");
  EXPECT_TRUE(wait_until([&] { return query(standby->url(), "SELECT x FROM kept") == "5"; }));

  standby->kill_hard();
  EXPECT_EQ(query(primary.url(), "INSERT INTO kept VALUES (6) RETURNING x"), "6");
}

TEST(PgBouncer, PoolsTransactionsOfTheSameDatabase) {
  PostgresServer server({.durable = false, .settings = {}});
  const std::string database = server.make_database();
  const PgBouncer pooler(server);
  const std::string url = pooler.url_of(database);
  EXPECT_NE(url, database);

  const Connection first = connect(url);
  const Connection second = connect(url);
  EXPECT_EQ(query(first, "SELECT current_user"), "horae");
  EXPECT_EQ(query(first, "SELECT current_database()"), query(database, "SELECT current_database()"));

  // Between transactions, two clients share one connection to the server.
  const std::string backend = query(first, "SELECT pg_backend_pid()");
  EXPECT_EQ(query(second, "SELECT pg_backend_pid()"), backend);
  query(first, "BEGIN");
  EXPECT_EQ(query(first, "SELECT pg_backend_pid()"), backend);
  EXPECT_NE(query(second, "SELECT pg_backend_pid()"), backend);
}

TEST(PgBouncer, ReconnectsAfterTheServerRestarts) {
  PostgresServer server({.durable = false, .settings = {}});
  const PgBouncer pooler(server);
  const std::string url = pooler.url_of(server.url());
  EXPECT_EQ(query(url, "SELECT 1"), "1");

  server.kill_hard();
  server.start();
  EXPECT_TRUE(wait_until([&] { return query(url, "SELECT 1") == "1"; }));
}

}  // namespace
}  // namespace horae::testing
