// kill -9 at any moment, of the worker, of PostgreSQL, of a primary that has a standby: nothing acknowledged is lost,
// and no attempt is given twice.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "tests/crash/any_store.h"
#include "tests/crash/judgement.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"

namespace horae::testing {
namespace {

void expect_kept_at(const std::string& url, Told& told) {
  const SystemClock clock;
  const auto store = std::move(open_any_store(url, clock)).value();
  expect_kept(*store, told, Counts::kMayLag);
}

TEST(PostgresCrash, KillsOfWorkersLoseNothingAndRepeatNoAttempt) {
  const PostgresServer server({.durable = false, .settings = {}});
  SeededRandom random(20261116);
  Told told;
  for (int kill = 0; kill < kills(); ++kill) {
    RunningWorker worker({STORE_WORKER, server.url()}, told);
    ASSERT_TRUE(worker.wait_for_acknowledgements(random.below(60))) << "the worker ended by itself";
  }
  expect_kept_at(server.url(), told);
}

// The worker goes on by itself.
TEST(PostgresCrash, KillsOfTheServerLoseNothingAndRepeatNoAttempt) {
  PostgresServer server;
  SeededRandom random(20261116);
  Told told;
  RunningWorker worker({STORE_WORKER, server.url()}, told);
  for (int kill = 0; kill < std::max(kills() / 10, 1); ++kill) {
    ASSERT_TRUE(worker.wait_for_acknowledgements(100 + random.below(400))) << "the worker ended by itself";
    server.kill_hard();
    server.start();
  }
  ASSERT_TRUE(worker.wait_for_acknowledgements(100)) << "the worker ended by itself";
  worker.kill();
  EXPECT_GT(told.away, 0U);
  expect_kept_at(server.url(), told);
}

// A primary and its synchronous standby. The worker knows both, and follows by itself.
struct Pair {
  PostgresServer primary;
  std::unique_ptr<PostgresServer> standby = primary.make_standby(true);
  Told told;
  RunningWorker worker{{STORE_WORKER, "postgresql://horae@127.0.0.1:" + std::to_string(primary.port()) + ",127.0.0.1:" +
                                          std::to_string(standby->port()) + "/horae?target_session_attrs=read-write"},
                       told};

  void fail_over_and_judge() {
    primary.kill_hard();
    standby->promote();
    ASSERT_TRUE(worker.wait_for_acknowledgements(1'000)) << "the worker ended by itself";
    worker.kill();
    EXPECT_GT(told.away, 0U);
    expect_kept_at(standby->url(), told);
  }
};

TEST(PostgresCrash, AStandbyThatIsPromotedHasAllThatThePrimaryAcknowledged) {
  SeededRandom random(20261116);
  for (int kill = 0; kill < std::max(kills() / 200, 1); ++kill) {
    Pair pair;
    ASSERT_TRUE(pair.worker.wait_for_acknowledgements(500 + random.below(1'000))) << "the worker ended by itself";
    pair.fail_over_and_judge();
  }
}

// The primary goes on alone for a while before it dies. What it did then is lost, so nobody may have been told of it.
TEST(PostgresCrash, APrimaryThatHasLostItsStandbyAcknowledgesNothing) {
  Pair pair;
  ASSERT_TRUE(pair.worker.wait_for_acknowledgements(500)) << "the worker ended by itself";
  pair.standby->run_sql("ALTER SYSTEM SET primary_conninfo = ''", "postgres");
  pair.standby->run_sql("SELECT pg_reload_conf()", "postgres");
  // One commit that waits is enough: the other threads may in turn wait for what it has locked.
  const std::string is_alone =
      "SELECT NOT EXISTS (SELECT FROM pg_stat_replication)"
      " AND EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')";
  EXPECT_TRUE(wait_until([&] { return pair.primary.run_sql(is_alone) == "t"; }));
  pair.fail_over_and_judge();
}

}  // namespace
}  // namespace horae::testing
