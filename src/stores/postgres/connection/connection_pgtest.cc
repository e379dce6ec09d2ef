#include "stores/postgres/connection/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/time_text.h"
#include "stores/postgres/connection/time.h"
#include "stores/postgres/test_database.h"
#include "tests/support/postgres_server.h"

namespace horae::postgres {

horae::testing::PostgresServer& test_server() {
  static horae::testing::PostgresServer server({.durable = false, .settings = {"deadlock_timeout = 50ms"}});
  return server;
}

TestDatabase::TestDatabase() : url_(test_server().make_database()) {}
TestDatabase::~TestDatabase() { test_server().drop_database(url_); }
std::string TestDatabase::name() const { return url_.substr(url_.rfind('/') + 1); }
std::string TestDatabase::ask(const std::string& sql) { return test_server().run_sql(sql, name()); }

namespace {

using ::testing::IsEmpty;
using std::literals::operator""s;
using std::literals::operator""us;

class ConnectionTest : public TestDatabase {};

// The text as a statement of its own name.
Sql sql(std::string text) { return {text, text}; }

// Sends values through the server and reads them again.
Rows echo(Connection& connection, const std::string& text, const Params& params) {
  Transaction transaction(connection);
  const Rows rows = transaction.run({text + std::to_string(params.types().at(0)), text}, params);
  EXPECT_TRUE(transaction.commit().ok()) << transaction.failure()->error.message;
  return rows;
}

template <typename T>
Row echo_one(Connection& connection, const T& value, Rows& keeper) {
  keeper = echo(connection, "SELECT $1", Params::of(value));
  return keeper[0];
}

// ---- Values ----

// A node that is gone without a word must not keep its locks for hours.
TEST_F(ConnectionTest, TheServerEndsAnIdleTransaction) {
  EXPECT_EQ(connect()->run_alone("show idle_in_transaction_session_timeout").value()[0].text(0), "20s");
}

TEST_F(ConnectionTest, RoundTripsEveryType) {
  const auto connection = connect();
  Rows rows;
  for (const bool value : {false, true}) EXPECT_EQ(echo_one(*connection, value, rows).boolean(0), value);
  for (const auto value : {std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max()}) {
    EXPECT_EQ(echo_one(*connection, value, rows).integer(0), value);
  }
  for (const auto value : {std::numeric_limits<std::int32_t>::min(), -1, std::numeric_limits<std::int32_t>::max()}) {
    EXPECT_EQ(echo_one(*connection, value, rows).integer(0), value);
  }
  for (const auto value : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(echo_one(*connection, value, rows).integer(0), value);
  }
  for (const double value : {-0.1, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(echo_one(*connection, value, rows).real(0), value);
  }
  for (const std::string& value : {""s, "a'\\\n\u00fc"s}) EXPECT_EQ(echo_one(*connection, value, rows).text(0), value);
  for (const std::string& value : {""s, "\0\xff\\"s})
    EXPECT_EQ(echo_one(*connection, Blob{value}, rows).view(0), value);
  const Uuid uuid = parse_uuid("0190f7c2-0a1b-7c3d-8e4f-0123456789ab").value();
  EXPECT_EQ(echo_one(*connection, uuid, rows).uuid(0), uuid);
  for (const Duration value : {Duration::min(), Duration(-1), Duration::max()}) {
    EXPECT_EQ(echo_one(*connection, value, rows).duration(0), value);
  }
}

// What the server understood, not only what it sent back.
TEST_F(ConnectionTest, TheServerReadsParametersAsIntended) {
  const auto connection = connect();
  const Instant moment = parse_instant("2026-11-16T02:13:57.000001Z").value();
  const Uuid uuid = parse_uuid("0190f7c2-0a1b-7c3d-8e4f-0123456789ab").value();
  const Rows rows = echo(
      *connection, "SELECT concat_ws(' ', $1, $2, $3, $4, $5, $6, $7, $8)",
      Params::of(true, std::int16_t{-2}, std::int32_t{-3}, std::int64_t{1} << 40, 0.5, Blob{"\xff"}, uuid, moment));
  EXPECT_EQ(rows[0].text(0),
            "t -2 -3 1099511627776 0.5 \\xff 0190f7c2-0a1b-7c3d-8e4f-0123456789ab 2026-11-16 02:13:57.000001+00");
}

TEST_F(ConnectionTest, TimesReachFromOneEndToTheOther) {
  const auto connection = connect();
  Rows rows;
  for (const Instant time : {earliest_instant(), Instant{}, kEpoch - 1us, kEpoch, kEpoch + 1us, latest_instant()}) {
    EXPECT_EQ(echo_one(*connection, time, rows).instant(0), time);
  }
  const Rows years = echo(*connection, "SELECT extract(year FROM $1)::int, extract(year FROM $2)::int",
                          Params::of(earliest_instant(), latest_instant()));
  EXPECT_EQ(years[0].integer(0), -1);  // the year 0 is 1 BC
  EXPECT_EQ(years[0].integer(1), 9999);
}

TEST_F(ConnectionTest, NullIsNotEmpty) {
  const auto connection = connect();
  const Rows rows =
      echo(*connection, "SELECT $1::text, $2::bigint, $3::timestamptz, $4::text, $5::bigint, $6::smallint, $7::text",
           Params::of(std::optional<std::string>(), std::optional<std::int64_t>(), std::optional<Instant>(),
                      std::optional<std::string>(""), std::optional<Duration>(Duration(7)),
                      std::optional<std::int16_t>(), std::optional<std::string>("nobody")));
  const Row row = rows[0];
  for (const int column : {0, 1, 2}) EXPECT_TRUE(row.is_null(column));
  EXPECT_EQ(row.optional_text(0), std::nullopt);
  EXPECT_EQ(row.optional_integer(1), std::nullopt);
  EXPECT_EQ(row.optional_duration(1), std::nullopt);
  EXPECT_EQ(row.optional_instant(2), std::nullopt);
  EXPECT_EQ(row.optional_text(3), "");
  EXPECT_EQ(row.optional_integer(4), 7);
  EXPECT_EQ(row.optional_duration(4), Duration(7));
  EXPECT_EQ(row.attempt_end(5), std::nullopt);
  // Without the optional_ forms a null is nothing.
  EXPECT_EQ(row.text(0), "");
  EXPECT_EQ(row.integer(1), 0);
}

TEST_F(ConnectionTest, AnAttemptEndIsAnEventAndAnOwner) {
  const auto connection = connect();
  const Rows rows = echo(*connection, "SELECT $1, $2", Params::of(static_cast<std::int16_t>(Event::kYield), "w"s));
  ASSERT_TRUE(rows[0].attempt_end(0));
  EXPECT_EQ(rows[0].attempt_end(0)->event, Event::kYield);
  EXPECT_EQ(rows[0].attempt_end(0)->owner, "w");
}

TEST_F(ConnectionTest, ArraysKeepTheirOrderAndNulls) {
  const auto connection = connect();
  using Texts = std::vector<std::optional<std::string>>;
  Rows rows;
  for (const Texts& texts : {Texts{}, Texts{"a"}, Texts{std::nullopt}, Texts{"", std::nullopt, "b\n", "{,}"}}) {
    EXPECT_EQ(echo_one(*connection, texts, rows).texts(0), texts);
  }
  EXPECT_THAT(echo(*connection, "SELECT null::text[], $1", Params::of(1.0))[0].texts(0), IsEmpty());
  EXPECT_EQ(echo_one(*connection, std::vector<std::string>{"a", ""}, rows).texts(0), (Texts{"a", ""}));
  EXPECT_EQ(echo_one(*connection, std::vector<std::string_view>{"a"}, rows).texts(0), (Texts{"a"}));
}

TEST_F(ConnectionTest, ArraysOfEveryTypeBecomeRows) {
  const auto connection = connect();
  const Uuid uuid = parse_uuid("0190f7c2-0a1b-7c3d-8e4f-0123456789ab").value();
  const Rows rows = echo(
      *connection, "SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
      Params::of(std::vector<bool>{true, false}, std::vector<std::int16_t>{-1, 2}, std::vector<std::int32_t>{-3, 4},
                 std::vector<std::int64_t>{-5, 6}, std::vector<double>{0.5, -1}, std::vector<std::string>{"", "x"},
                 std::vector<std::optional<Blob>>{Blob{""}, std::nullopt}, std::vector<Uuid>{uuid, Uuid{}},
                 std::vector<std::optional<Instant>>{kEpoch, std::nullopt}, std::vector<Duration>{Duration(7), 8us}));
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].boolean(0), true);
  EXPECT_EQ(rows[0].integer(1), -1);
  EXPECT_EQ(rows[0].integer(2), -3);
  EXPECT_EQ(rows[0].integer(3), -5);
  EXPECT_EQ(rows[0].real(4), 0.5);
  EXPECT_EQ(rows[0].optional_text(5), "");
  EXPECT_EQ(rows[0].optional_text(6), "");
  EXPECT_EQ(rows[0].uuid(7), uuid);
  EXPECT_EQ(rows[0].optional_instant(8), kEpoch);
  EXPECT_EQ(rows[0].duration(9), Duration(7));
  EXPECT_EQ(rows[1].boolean(0), false);
  EXPECT_EQ(rows[1].integer(1), 2);
  EXPECT_EQ(rows[1].optional_text(6), std::nullopt);
  EXPECT_EQ(rows[1].uuid(7), Uuid{});
  EXPECT_EQ(rows[1].optional_instant(8), std::nullopt);
  EXPECT_EQ(rows[1].duration(9), Duration(8us));
}

TEST_F(ConnectionTest, ReturnsTheNumberOfAffectedRows) {
  ask("CREATE TABLE t (x bigint)");
  const auto connection = connect();
  Transaction transaction(*connection);
  EXPECT_EQ(transaction.run(sql("INSERT INTO t SELECT generate_series(1, 12)")).affected(), 12U);
  EXPECT_EQ(transaction.run(sql("UPDATE t SET x = 0 WHERE x > 99")).affected(), 0U);
  EXPECT_EQ(transaction.run(sql("DELETE FROM t")).affected(), 12U);
  int count = 0;
  for (const Row row : transaction.run(sql("INSERT INTO t VALUES (5), (6) RETURNING x"))) {
    EXPECT_EQ(row.integer(0), 5 + count++);
  }
  EXPECT_EQ(count, 2);
}

// ---- Transactions ----

TEST_F(ConnectionTest, OnlyWhatIsCommittedStays) {
  ask("CREATE TABLE t (x bigint)");
  const auto connection = connect();
  {
    Transaction transaction(*connection);
    transaction.send(sql("INSERT INTO t VALUES (1)"));
    EXPECT_TRUE(transaction.wait());
  }
  {
    Transaction transaction(*connection);
    transaction.send(sql("INSERT INTO t VALUES (2)"));
    transaction.send(sql("INSERT INTO t VALUES (3)"));
    EXPECT_TRUE(transaction.commit().ok());
  }
  {
    Transaction transaction(*connection);
    transaction.send(sql("INSERT INTO t VALUES (4)"));
    transaction.fail({ErrorCode::kRefused, "not so"});
    EXPECT_EQ(transaction.commit().error(), (Error{ErrorCode::kRefused, "not so"}));
  }
  EXPECT_EQ(ask("SELECT string_agg(x::text, ' ' ORDER BY x) FROM t"), "2 3");
}

TEST_F(ConnectionTest, AnErrorInAPipelineFailsTheWholeTransaction) {
  ask("CREATE TABLE t (x bigint PRIMARY KEY)");
  const auto connection = connect();
  const Sql insert = sql("INSERT INTO t VALUES ($1)");
  {
    Transaction transaction(*connection);
    transaction.send(insert, Params::of(std::int64_t{1}));
    transaction.send(insert, Params::of(std::int64_t{1}));
    const auto after = transaction.send(sql("SELECT 5"));
    const auto committed = transaction.commit();
    ASSERT_FALSE(committed.ok());
    EXPECT_EQ(committed.error().code, ErrorCode::kInternal);
    ASSERT_TRUE(transaction.failed());
    EXPECT_TRUE(transaction.failure()->duplicate());
    EXPECT_FALSE(transaction.failure()->lost);
    EXPECT_TRUE(transaction.rows(after).empty());
    // All further calls do nothing.
    EXPECT_TRUE(transaction.run(sql("SELECT 6")).empty());
    EXPECT_FALSE(transaction.commit().ok());
  }
  EXPECT_TRUE(connection->usable());
  Transaction next(*connection);
  next.send(insert, Params::of(std::int64_t{2}));
  EXPECT_TRUE(next.commit().ok());
  EXPECT_EQ(ask("SELECT string_agg(x::text, ' ') FROM t"), "2");
}

TEST_F(ConnectionTest, PreparesAStatementAgainAfterAnErrorSkippedIt) {
  const auto connection = connect();
  const Sql broken = sql("SELECT no_such_column");
  const Sql good = sql("SELECT 7");
  for (int round = 0; round < 2; ++round) {
    Transaction transaction(*connection);
    transaction.send(broken);
    transaction.send(good);
    EXPECT_FALSE(transaction.commit().ok());
    EXPECT_EQ(transaction.failure()->sqlstate, "42703");
  }
  for (int round = 0; round < 2; ++round) {
    Transaction transaction(*connection);
    const auto ticket = transaction.send(good);
    ASSERT_TRUE(transaction.commit().ok()) << transaction.failure()->error.message;
    EXPECT_EQ(transaction.rows(ticket)[0].integer(0), 7);
  }
}

TEST_F(ConnectionTest, ReturnsAnErrorAtCommit) {
  ask("CREATE TABLE t (x bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)");
  const auto connection = connect();
  {
    Transaction transaction(*connection);
    transaction.send(sql("INSERT INTO t VALUES (1), (1)"));
    EXPECT_TRUE(transaction.wait());
    EXPECT_FALSE(transaction.commit().ok());
    EXPECT_TRUE(transaction.failure()->duplicate());
  }
  EXPECT_TRUE(connection->usable());
  EXPECT_EQ(ask("SELECT count(*) FROM t"), "0");
}

// ---- In one trip, without BEGIN and COMMIT ----

TEST_F(ConnectionTest, OneTripIsOneTransaction) {
  ask("CREATE TABLE t (x bigint PRIMARY KEY)");
  const auto connection = connect();
  const std::uint64_t trips = connection->round_trips();
  Transaction transaction(*connection, Transaction::Kind::kOneTrip);
  transaction.send(sql("INSERT INTO t VALUES (1)"));
  transaction.send(sql("INSERT INTO t VALUES (2)"));
  EXPECT_TRUE(transaction.commit().ok());
  EXPECT_EQ(connection->round_trips() - trips, 1U);
  EXPECT_EQ(ask("SELECT count(DISTINCT xmin::text) || ' ' || count(*) FROM t"), "1 2");
}

TEST_F(ConnectionTest, AnErrorInOneTripLeavesNothingOfIt) {
  ask("CREATE TABLE t (x bigint PRIMARY KEY)");
  const auto connection = connect();
  {
    Transaction transaction(*connection, Transaction::Kind::kOneTrip);
    transaction.send(sql("INSERT INTO t VALUES (1)"));
    transaction.send(sql("SELECT 1 / 0"));
    transaction.send(sql("INSERT INTO t VALUES (2)"));
    EXPECT_FALSE(transaction.commit().ok());
    EXPECT_EQ(transaction.failure()->sqlstate, "22012");
    EXPECT_FALSE(transaction.failure()->commit_sent) << "so that it may be repeated";
  }
  EXPECT_TRUE(connection->usable());
  EXPECT_EQ(ask("SELECT count(*) FROM t"), "0");
}

// What was sent waits for the end of the pipeline, and must not be taken along by the next transaction.
TEST_F(ConnectionTest, ATripThatIsNotCommittedLeavesNothing) {
  ask("CREATE TABLE t (x bigint)");
  const auto connection = connect();
  {
    Transaction forgotten(*connection, Transaction::Kind::kOneTrip);
    forgotten.send(sql("INSERT INTO t VALUES (1)"));
  }
  {
    Transaction refused(*connection, Transaction::Kind::kOneTrip);
    refused.send(sql("INSERT INTO t VALUES (2)"));
    refused.fail({ErrorCode::kRefused, "not so"});
    EXPECT_EQ(refused.commit().error(), (Error{ErrorCode::kRefused, "not so"}));
  }
  EXPECT_TRUE(connection->usable());
  Transaction next(*connection, Transaction::Kind::kOneTrip);
  next.send(sql("INSERT INTO t VALUES (3)"));
  EXPECT_TRUE(next.commit().ok());
  EXPECT_EQ(ask("SELECT string_agg(x::text, ' ' ORDER BY x) FROM t"), "3");
}

// No statement of ours can fail there. If one did, it would count as an unknown outcome, and the connection as lost.
TEST_F(ConnectionTest, AnErrorAtTheEndOfATripIsAnUnknownOutcome) {
  ask("CREATE TABLE t (x bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)");
  const auto connection = connect();
  {
    Transaction transaction(*connection, Transaction::Kind::kOneTrip);
    transaction.send(sql("INSERT INTO t VALUES (1), (1)"));
    EXPECT_EQ(transaction.commit().error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(transaction.failure()->commit_sent);
  }
  EXPECT_FALSE(connection->usable());
}

TEST_F(ConnectionTest, WaitingWithinOneTripIsABug) {
  const auto connection = connect();
  Transaction transaction(*connection, Transaction::Kind::kOneTrip);
  transaction.send(sql("SELECT 1"));
  EXPECT_DEATH((void)transaction.wait(), "BEGIN");
}

TEST_F(ConnectionTest, OneTripIsReadCommittedAndMayWrite) {
  ask("ALTER DATABASE " + name() + " SET default_transaction_isolation = 'serializable'; ALTER DATABASE " + name() +
      " SET default_transaction_read_only = on");
  const auto connection = connect();
  Transaction transaction(*connection, Transaction::Kind::kOneTrip);
  const auto ticket = transaction.send(
      sql("SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only')"));
  EXPECT_TRUE(transaction.commit().ok());
  EXPECT_EQ(transaction.rows(ticket)[0].text(0), "read committed");
  EXPECT_EQ(transaction.rows(ticket)[0].text(1), "off");
}

TEST_F(ConnectionTest, ASnapshotSeesOneMomentAndChangesNothing) {
  ask("CREATE TABLE t AS SELECT 1 AS x");
  const auto connection = connect();
  const Sql count = sql("SELECT count(*) FROM t");
  Transaction snapshot(*connection, Transaction::Kind::kSnapshot);
  EXPECT_EQ(snapshot.run(count)[0].integer(0), 1);
  ask("INSERT INTO t VALUES (2)");
  EXPECT_EQ(snapshot.run(count)[0].integer(0), 1);
  snapshot.run(sql("DELETE FROM t"));
  EXPECT_EQ(snapshot.failure()->sqlstate, "25006");
}

// Each side must read while it writes, or both wait for ever. The answers are larger than the questions, and each is
// larger than what the sockets hold.
TEST_F(ConnectionTest, SendsAndReceivesLargeDataAtOnce) {
  const auto connection = connect();
  const std::string large(1 << 20, 'x');
  Transaction transaction(*connection);
  for (int i = 0; i < 16; ++i) transaction.send({"echo", "SELECT repeat($1, 12)"}, Params::of(large));
  ASSERT_TRUE(transaction.commit().ok()) << transaction.failure()->error.message;
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(transaction.rows(i)[0].view(0).size(), 12 * large.size());
}

TEST_F(ConnectionTest, ManyStatementsInOnePipeline) {
  const auto connection = connect();
  Transaction transaction(*connection);
  for (std::int64_t i = 0; i < 5'000; ++i) transaction.send({"echo", "SELECT $1"}, Params::of(i));
  ASSERT_TRUE(transaction.commit().ok());
  for (std::size_t i = 0; i < 5'000; ++i) EXPECT_EQ(transaction.rows(i)[0].integer(0), static_cast<std::int64_t>(i));
}

TEST_F(ConnectionTest, RunsScriptsBetweenTransactions) {
  const auto connection = connect();
  EXPECT_FALSE(connection->pooled());
  EXPECT_GE(connection->server_version(), 150'000);
  for (int round = 0; round < 2; ++round) {
    // The last answer counts, and comes as text.
    EXPECT_EQ(connection->run_alone("SELECT 1; SELECT 42").value()[0].text(0), "42");
    EXPECT_TRUE(connection->usable());
    Transaction transaction(*connection);
    EXPECT_EQ(transaction.run(sql("SELECT 43"))[0].integer(0), 43);
  }
  EXPECT_EQ(connection->run_alone("").value().size(), 0);
}

TEST_F(ConnectionTest, AScriptThatFailsLeavesNoTransactionBehind) {
  const auto connection = connect();
  const auto answer = connection->run_alone("BEGIN; CREATE TABLE t (); SELECT nonsense; COMMIT");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kInternal);
  EXPECT_THAT(answer.error().message, ::testing::HasSubstr("nonsense"));
  EXPECT_TRUE(connection->usable());
  EXPECT_EQ(ask("SELECT to_regclass('t') IS NULL"), "t");
  EXPECT_TRUE(connection->run_alone("CREATE TABLE t ()").ok());
}

TEST_F(ConnectionTest, SessionsAreSetUpAsTheStatementsNeedThem) {
  ask("ALTER DATABASE " + name() + " SET timezone = 'Asia/Tokyo'");
  const auto connection = connect();
  EXPECT_EQ(connection->run_alone("SHOW timezone").value()[0].text(0), "UTC");
  EXPECT_EQ(connection->run_alone("SHOW jit").value()[0].text(0), "off");
  const auto latin = Connection::open(url() + "?client_encoding=LATIN1").value();
  EXPECT_EQ(latin->run_alone("SHOW client_encoding").value()[0].text(0), "UTF8");
}

TEST_F(ConnectionTest, AnUnreachableServerIsUnavailable) {
  for (const std::string& wrong : {test_server().url("no_such_database"), "postgresql://horae@127.0.0.1:1/x"s}) {
    const auto connection = Connection::open(wrong);
    ASSERT_FALSE(connection.ok());
    EXPECT_EQ(connection.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(connection.error().message, ::testing::HasSubstr("PostgreSQL cannot be reached"));
  }
}

TEST_F(ConnectionTest, ALostConnectionIsNotUsable) {
  const auto connection = connect();
  const std::string pid = connection->run_alone("SELECT pg_backend_pid()").value()[0].text(0);
  EXPECT_TRUE(connection->usable());
  ask("SELECT pg_terminate_backend(" + pid + ", 10000)");
  EXPECT_FALSE(connection->usable());
  EXPECT_EQ(connection->run_alone("SELECT 1").error().code, ErrorCode::kUnavailable);
  Transaction transaction(*connection);
  EXPECT_EQ(transaction.commit().error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(transaction.failure()->lost);
}

}  // namespace
}  // namespace horae::postgres
