// kill -9 at any moment of the worker, of PostgreSQL, or of a primary with a standby: nothing acknowledged is lost, and
// no attempt is handed out twice.

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

void expect_kept_at(const std::string& url, WorkerLog& log) {
  const SystemClock clock;
  const auto store = std::move(open_any_store(url, clock)).value();
  expect_kept(*store, log, Counts::kMayLag);
}

TEST(PostgresCrash, KillsOfWorkersLoseNothingAndRepeatNoAttempt) {
  const PostgresServer server({.durable = false, .settings = {}});
  SeededRandom random(20261116);
  WorkerLog log;
  for (int kill = 0; kill < kills(); ++kill) {
    RunningWorker worker({STORE_WORKER, server.url()}, log);
    ASSERT_TRUE(worker.wait_for_acknowledgements(random.below(60))) << "the worker ended by itself";
  }
  expect_kept_at(server.url(), log);
}

// The worker reconnects by itself.
TEST(PostgresCrash, KillsOfTheServerLoseNothingAndRepeatNoAttempt) {
  PostgresServer server;
  SeededRandom random(20261116);
  WorkerLog log;
  RunningWorker worker({STORE_WORKER, server.url()}, log);
  for (int kill = 0; kill < std::max(kills() / 10, 1); ++kill) {
    ASSERT_TRUE(worker.wait_for_acknowledgements(100 + random.below(400))) << "the worker ended by itself";
    server.kill_hard();
    server.start();
  }
  ASSERT_TRUE(worker.wait_for_acknowledgements(100)) << "the worker ended by itself";
  worker.kill();
  EXPECT_GT(log.unavailable, 0U);
  expect_kept_at(server.url(), log);
}

// A primary and its synchronous standby. The URL of the worker names both, so that it fails over by itself.
struct Pair {
  PostgresServer primary;
  std::unique_ptr<PostgresServer> standby = primary.make_standby(true);
  WorkerLog log;
  RunningWorker worker{{STORE_WORKER, "postgresql://horae@127.0.0.1:" + std::to_string(primary.port()) + ",127.0.0.1:" +
                                          std::to_string(standby->port()) + "/horae?target_session_attrs=read-write"},
                       log};

  void fail_over_and_check() {
    primary.kill_hard();
    standby->promote();
    ASSERT_TRUE(worker.wait_for_acknowledgements(1'000)) << "the worker ended by itself";
    worker.kill();
    EXPECT_GT(log.unavailable, 0U);
    expect_kept_at(standby->url(), log);
  }
};

TEST(PostgresCrash, APromotedStandbyHasEverythingAcknowledged) {
  SeededRandom random(20261116);
  for (int kill = 0; kill < std::max(kills() / 200, 1); ++kill) {
    Pair pair;
    ASSERT_TRUE(pair.worker.wait_for_acknowledgements(500 + random.below(1'000))) << "the worker ended by itself";
    pair.fail_over_and_check();
  }
}

// The primary runs alone for a while before it dies. Its commits of that time are lost, so it must not have
// acknowledged them.
TEST(PostgresCrash, APrimaryWithoutItsStandbyAcknowledgesNothing) {
  Pair pair;
  ASSERT_TRUE(pair.worker.wait_for_acknowledgements(500)) << "the worker ended by itself";
  pair.standby->run_sql("ALTER SYSTEM SET primary_conninfo = ''", "postgres");
  pair.standby->run_sql("SELECT pg_reload_conf()", "postgres");
  // One waiting commit is enough: the other threads may wait for its locks.
  const std::string is_alone =
      "SELECT NOT EXISTS (SELECT FROM pg_stat_replication)"
      " AND EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')";
  EXPECT_TRUE(wait_until([&] { return pair.primary.run_sql(is_alone) == "t"; }));
  pair.fail_over_and_check();
}

}  // namespace
}  // namespace horae::testing
