// Connections whose other end is gone without a word.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <string>

#include "stores/postgres/connection/pool.h"
#include "stores/postgres/test_database.h"
#include "tests/support/cable.h"
#include "tests/support/postgres_server.h"

namespace horae::postgres {
namespace {

// The text as a statement of its own name.
Sql named_by_text(std::string text) { return {text, text}; }

const Sql kInsertNumber = named_by_text("INSERT INTO t VALUES ($1)");

// In one trip.
Result<int> insert_number(Pool& pool, int number) {
  return pool.transact<int>([&](Transaction& transaction) -> Result<int> {
    transaction.send(kInsertNumber, Params::of(std::int32_t{number}));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return number;
  });
}

// Of pools behind a cable: all connections that they have made hang from now on, new ones work.
class BlackHoleTest : public TestDatabase {
 protected:
  BlackHoleTest() { ask("CREATE TABLE t (x int)"); }

  // Lends `count` connections at once, so that there are as many.
  static void fill(Pool& pool, int count) {
    if (count == 0) return;
    const auto filled = pool.with_connection<bool>([&](Connection&) -> Result<bool> {
      fill(pool, count - 1);
      return true;
    });
    EXPECT_TRUE(filled.ok());
  }

  std::string url_through(const horae::testing::Cable& cable) const {
    const std::string port = ":" + std::to_string(test_server().port()) + "/";
    std::string url = this->url();
    return url.replace(url.find(port), port.size(), ":" + std::to_string(cable.port()) + "/");
  }

  horae::testing::Cable cable_{test_server().port()};
  Pool pool_{url_through(cable_), 3, {.answer_timeout = std::chrono::seconds(1)}};
};

TEST_F(BlackHoleTest, ACallThatHangsContinuesOnANewConnection) {
  fill(pool_, 1);
  cable_.strand();
  const auto count = pool_.look<std::int64_t>([](Transaction& transaction) -> Result<std::int64_t> {
    const auto ticket = transaction.send(named_by_text("SELECT count(*) FROM t"));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return transaction.rows(ticket)[0].integer(0);
  });
  ASSERT_TRUE(count.ok()) << count.error().message;
  EXPECT_EQ(*count, 0);
}

TEST_F(BlackHoleTest, AChangeIsRunAgainIfItIsIdempotentOrHasNotReachedItsCommit) {
  int runs = 0;
  const auto change = [&](bool waits, Repeat repeat) {
    fill(pool_, 1);
    cable_.strand();
    const int number = ++runs;
    return pool_.transact<int>(
        [&, number, waits](Transaction& transaction) -> Result<int> {
          transaction.send(kInsertNumber, Params::of(std::int32_t{number}));
          if (waits && !transaction.wait()) return transaction.failure()->error;
          if (auto done = transaction.commit(); !done.ok()) return done.error();
          return number;
        },
        repeat);
  };
  EXPECT_TRUE(change(true, Repeat::kIfNothingHappened).ok());
  EXPECT_TRUE(change(false, Repeat::kAlways).ok());
  EXPECT_EQ(change(false, Repeat::kIfNothingHappened).error().code, ErrorCode::kUnavailable) << "unknown outcome";
  EXPECT_EQ(ask("SELECT string_agg(x::text, ' ' ORDER BY x) FROM t"), "1 2");
}

// Each of them would let a call wait.
TEST_F(BlackHoleTest, AfterOneHasHungTheOtherIdleConnectionsAreDropped) {
  fill(pool_, 3);
  cable_.strand();
  EXPECT_FALSE(insert_number(pool_, 1).ok());
  for (int number = 2; number <= 4; ++number) EXPECT_TRUE(insert_number(pool_, number).ok());
}

// Its answer takes longer than an ordinary one may.
TEST_F(BlackHoleTest, MaintenanceIsPatient) {
  for (const bool is_patient : {true, false}) {
    const auto slept = pool_.transact_in_one_trip<bool>([&](Transaction& transaction) -> Result<bool> {
      if (is_patient) transaction.be_patient();
      transaction.send(named_by_text("SELECT pg_sleep(1.5)"));
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      return true;
    });
    EXPECT_EQ(slept.ok(), is_patient);
  }
}

// A peer that is gone without a word is noticed by the kernel within seconds.
TEST_F(BlackHoleTest, TheKernelWatchesTheConnection) {
  const auto option = [](const Connection& connection, int name) {
    int value = 0;
    socklen_t size = sizeof(value);
    EXPECT_EQ(getsockopt(connection.socket(), IPPROTO_TCP, name, &value, &size), 0);
    return value;
  };
  const auto connection = connect();
  EXPECT_EQ(option(*connection, TCP_USER_TIMEOUT), 5'000);
  EXPECT_EQ(option(*connection, TCP_KEEPIDLE), 5);
  EXPECT_EQ(option(*connection, TCP_KEEPINTVL), 2);
  EXPECT_EQ(option(*connection, TCP_KEEPCNT), 3);
  const auto chosen = Connection::open(url() + "?tcp_user_timeout=9000").value();
  EXPECT_EQ(option(*chosen, TCP_USER_TIMEOUT), 9'000) << "the URL wins";
}

}  // namespace
}  // namespace horae::postgres
