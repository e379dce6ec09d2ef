// Three nodes share the work of one PostgreSQL, and two continue when one is killed. The history checker checks
// everything that was acknowledged, as after crashes and chaos.

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "stores/postgres/postgres_store.h"
#include "tests/crash/judgement.h"
#include "tests/e2e/running_node.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"

namespace horae::testing {
namespace {

constexpr std::size_t kNodes = 3;
constexpr std::size_t kMany = 500;  // acknowledgements, so that there is work in progress at the kill

std::size_t claims_of(const WorkerLog& log) {
  return static_cast<std::size_t>(std::ranges::count_if(
      log.history.records, [](const sim::Record& each) { return std::holds_alternative<sim::Claimed>(each.what); }));
}

std::int64_t unfinished_in(Store& store) {
  const auto list = store.queues().queues();
  if (!list.ok()) return -1;
  std::int64_t living = 0;
  for (const QueueInfo& queue : list->queues) living += queue.scheduled + queue.ready + queue.running;
  return living;
}

class ThreeNodes : public ::testing::Test {
 protected:
  ThreeNodes() {
    for (auto& node : nodes_) {
      node = std::make_unique<RunningNode>(std::vector<std::string>{
          "--store", url_, "--postgres-allow-unsafe", "fsync,full_page_writes,synchronous_commit", "--http-listen",
          "127.0.0.1:0", "--log-level", "off", "--slots-count", "0"});
    }
  }

  // A process that submits, claims and settles at these nodes only, and prints each acknowledgement.
  std::unique_ptr<RunningWorker> start_worker(const std::string& role, const std::vector<std::string>& urls) {
    logs_.push_back(std::make_unique<WorkerLog>());
    std::vector<std::string> argv = {CHAOS_WORKER, role};
    argv.insert(argv.end(), urls.begin(), urls.end());
    return std::make_unique<RunningWorker>(argv, *logs_.back());
  }

  WorkerLog merged_log() {
    WorkerLog all;
    for (const auto& each : logs_) {
      std::ranges::move(each->history.records, std::back_inserter(all.history.records));
      all.submitted += each->submitted;
      all.completed += each->completed;
      all.broken += each->broken;
    }
    return all;
  }

  PostgresServer server_{{.durable = false, .settings = {}}};
  const std::string url_ = server_.make_database();
  std::array<std::unique_ptr<RunningNode>, kNodes> nodes_;
  std::vector<std::unique_ptr<WorkerLog>> logs_;  // of each worker
};

TEST_F(ThreeNodes, ShareTheWorkAndTwoContinueWhenOneIsKilled) {
  std::vector<std::unique_ptr<RunningWorker>> workers;
  for (const auto& node : nodes_) workers.push_back(start_worker("work", {node->url()}));
  for (const auto& worker : workers) ASSERT_TRUE(worker->wait_for_acknowledgements(kMany));
  nodes_[2]->kill();
  for (const std::size_t i : {0, 1}) ASSERT_TRUE(workers[i]->wait_for_acknowledgements(kMany));
  for (const auto& worker : workers) worker->kill();

  const auto drain = start_worker("drain", {nodes_[0]->url(), nodes_[1]->url()});
  const auto store =
      std::move(open_postgres_store(url_, {.allow_unsafe = {"fsync", "full_page_writes", "synchronous_commit"}}))
          .value();
  EXPECT_TRUE(wait_until([&] { return unfinished_in(*store) == 0; }))
      << "tasks of the killed node and workers did not end";
  drain->kill();

  for (std::size_t i = 0; i < kNodes; ++i) EXPECT_GT(claims_of(*logs_[i]), 0U) << "node " << i << " handed out nothing";
  WorkerLog all = merged_log();
  expect_kept(*store, all, Counts::kMayLag);
}

}  // namespace
}  // namespace horae::testing
