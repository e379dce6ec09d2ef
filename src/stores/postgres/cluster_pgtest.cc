// What a tick costs, and what it leaves. What all stores do is in tests/store_contract.
#include "stores/postgres/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stores/postgres/migrations.h"
#include "stores/postgres/test_database.h"

namespace horae::postgres {
namespace {

class ClusterTest : public TestDatabase {
 protected:
  ClusterTest() { (void)migrate_database(*connect(), false).value(); }

  void tick(const std::string& id, std::vector<std::string> awaited = {}) {
    (void)cluster_.tick({.self = {.id = id, .address = "a", .version = "1"}, .awaited = std::move(awaited)}).value();
  }

  std::uint64_t round_trips() {
    return pool_.with_connection<std::uint64_t>([](Connection& each) { return Result(each.round_trips()); }).value();
  }

  // Statements that this store has prepared, with how often each was executed.
  std::string calls() {
    return pool_
        .with_connection<std::string>([](Connection& each) -> Result<std::string> {
          const auto rows = each.run_alone(
              "select string_agg(format('%s %s', name, generic_plans + custom_plans), ', ' order by name)"
              " from pg_prepared_statements");
          if (!rows.ok()) return rows.error();
          return (*rows)[0].text(0);
        })
        .value();
  }

  SystemClock clock_;
  Pool pool_{url(), 1};
  DatabaseIdentity database_{[] { return Result<std::string>(""); }, [] {}};
  Cluster cluster_{url(), pool_, database_, clock_};
};

TEST_F(ClusterTest, ATickIsOneStatementAndNothingElse) {
  tick("worker-1");  // also forgets
  const auto before = round_trips();
  for (int i = 0; i < 9; ++i) tick("worker-1");
  EXPECT_EQ(round_trips() - before, 9U);
  EXPECT_EQ(calls(), "forget_awaited 1, forget_nodes 1, tick 10");
}

TEST_F(ClusterTest, TicksWithoutNewsWriteNothing) {
  const std::string versions =
      "select string_agg(xmin::text || ' ' || xmax::text, ', ')"
      " from (select xmin, xmax from node union all select xmin, xmax from awaited) as rows";
  tick("worker-1", {"a"});
  (void)ask("update node set last_seen = last_seen + interval '1 hour'");  // however slow the test is
  (void)ask("update awaited set at = at + interval '1 hour'");
  const std::string before = ask(versions);
  tick("worker-1", {"a"});
  EXPECT_EQ(ask(versions), before);
  tick("worker-1", {"a", "b"});
  EXPECT_NE(ask(versions), before);
}

TEST_F(ClusterTest, UpdatesStayInTheirPage) {
  const auto other = connect();
  for (int i = 0; i < 200; ++i) {
    (void)other->run_alone("update node set last_seen = last_seen - interval '10 seconds'").value();
    tick("worker-1");
  }
  EXPECT_EQ(ask("select pg_relation_size('node') / 8192"), "1");
}

TEST_F(ClusterTest, OldNodesAndNamesOfNoQueueAreRemoved) {
  tick("worker-1", {"known", "unknown"});
  (void)ask("insert into queue (name, retention) values ('known', 0)");
  (void)ask("update node set last_seen = last_seen - interval '2 hours'");
  (void)ask("update awaited set at = at - interval '2 hours'");
  Cluster other(url(), pool_, database_, clock_);
  (void)other.tick({.self = {.id = "worker-2", .address = "a", .version = "1"}}).value();
  EXPECT_EQ(ask("select string_agg(id, ' ') from node"), "worker-2");
  EXPECT_EQ(ask("select string_agg(queue, ' ') from awaited"), "known");
}

TEST_F(ClusterTest, CountsTasksAheadWithoutReadingTheWholeIndex) {
  (void)ask("insert into queue (name, retention) values ('work', 0)");
  const std::string crowd =
      "insert into ready (lo, hi, queue, rank, at, updated_at, attempt, tries)"
      " select 10 * i, 10 * i + 1, (select no from queue), i, 0, now(), 0, 0 from generate_series(1, 20000) as i";
  (void)ask("begin; " + crowd + "; rollback");
  (void)ask("analyze ready");  // many pages and no rows, the planner believes
  (void)ask(crowd);
  const TaskId id = parse_uuid("11111111-1111-4111-8111-111111111111").value();
  (void)ask("insert into task_id values ('" + to_string(id) + "', 100001, '')");  // the second of its range
  {
    Pool other_pool(url(), 1);
    Cluster other(url(), other_pool, database_, clock_);
    EXPECT_EQ(other.ahead(id, 1'000'000).value(), 2U * 9'999 + 1);
    EXPECT_EQ(other.ahead(id, 10).value(), 10U);
  }
  // The statistics of a session are complete when it has ended.
  const std::string others =
      "select count(*) from pg_stat_activity"
      " where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()";
  while (ask(others) != "0") {
  }
  (void)ask("select pg_stat_reset()");
  {
    Pool other_pool(url(), 1);
    Cluster other(url(), other_pool, database_, clock_);
    EXPECT_EQ(other.ahead(id, 10).value(), 10U);
  }
  const std::string blocks = "select coalesce(sum(idx_blks_hit + idx_blks_read), 0) from pg_statio_user_indexes where ";
  while (ask(others) != "0") {
  }
  EXPECT_NE(ask(blocks + "indexrelname = 'ready_pkey'"), "0");
  EXPECT_LE(std::stoi(ask(blocks + "indexrelname = 'ready_order'")), 20);
}

TEST_F(ClusterTest, TickReturnsTheTokenVersionOfTheControlTable) {
  (void)ask("update control set token_version = 7");
  EXPECT_EQ(cluster_.tick({.self = {.id = "worker-1", .address = "a", .version = "1"}}).value().token_version, 7);
}

}  // namespace
}  // namespace horae::postgres
