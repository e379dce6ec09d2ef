#include "observe/measured_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/measured_stores.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;

Uuid id_of(std::uint8_t number) {
  Uuid id;
  id.bytes[15] = number;
  return id;
}

TEST(MeasuredTasks, CountsWhatHappensToTasksAndTimesTheStore) {
  const ManualClock clock;
  const auto store = open_sqlite_store(std::string(kSqliteMemory), clock).value();
  Metrics metrics;
  MeasuredTasks tasks(store->tasks(), metrics, clock);
  const std::vector<Submission> submissions = {{.task = {.queue = "mail", .spec = "1"}, .new_id = id_of(1)},
                                               {.task = {.queue = "mail", .spec = "2"}, .new_id = id_of(2)}};
  ASSERT_TRUE(tasks.submit(submissions).ok());
  ASSERT_TRUE(tasks.submit(submissions).ok());  // they are there already
  const std::vector<ClaimWish> wishes = {{.owner = "w", .queues = {"mail"}, .max = 5, .token = id_of(9)}};
  ASSERT_TRUE(tasks.claim(wishes).ok());
  const std::vector<Settlement> settlements = {{.event = Event::kComplete, .id = id_of(1), .attempt = 1, .owner = "w"},
                                               {.event = Event::kComplete, .id = id_of(2), .attempt = 7, .owner = "w"}};
  ASSERT_TRUE(tasks.settle(settlements).ok());
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr(R"(horae_tasks_total{event="submit"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_tasks_total{event="claim"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_tasks_total{event="complete"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_settles_refused_total{verdict="stale_attempt"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_store_calls_total{operation="submit",result="ok"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_store_batch_items_sum{operation="submit"} 4)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_store_call_seconds_count{operation="settle"} 1)"));
}

TEST(MeasuredTasks, CountsLeasesThatExpire) {
  ManualClock clock;
  const auto store = open_sqlite_store(std::string(kSqliteMemory), clock).value();
  Metrics metrics;
  MeasuredTasks tasks(store->tasks(), metrics, clock);
  const std::vector<Submission> submissions = {{.task = {.queue = "mail", .spec = "1"}, .new_id = id_of(1)},
                                               {.task = {.queue = "mail", .spec = "2"}, .new_id = id_of(2)}};
  ASSERT_TRUE(tasks.submit(submissions).ok());
  const std::vector<ClaimWish> wishes = {{.owner = "w", .queues = {"mail"}, .max = 5, .token = id_of(9)}};
  ASSERT_TRUE(tasks.claim(wishes).ok());
  ASSERT_TRUE(tasks.extend_leases(tasks.look()->stamp).value());
  clock.advance(kDefaultLease + std::chrono::seconds(1));
  ASSERT_TRUE(tasks.expire_leases({.seen = tasks.look()->stamp, .silence = std::chrono::hours(1)}).ok());
  EXPECT_THAT(metrics.text(), HasSubstr(R"(horae_tasks_total{event="expire"} 2)"));
}

TEST(MeasuredStores, TimeQueuesTokensAndTheCluster) {
  const ManualClock clock;
  const auto store = open_sqlite_store(std::string(kSqliteMemory), clock).value();
  Metrics metrics;
  MeasuredQueues queues(store->queues(), metrics, clock);
  MeasuredTokens tokens(store->tokens(), metrics, clock);
  MeasuredCluster cluster(store->cluster(), metrics, clock);
  ASSERT_TRUE(queues.queues().ok());
  ASSERT_FALSE(queues.configure("a b", {}).ok());
  ASSERT_TRUE(tokens.tokens().ok());
  ASSERT_TRUE(cluster.tick({.self = {.id = "worker-1"}}).ok());
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr(R"(horae_store_calls_total{operation="queues",result="ok"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_store_calls_total{operation="configure",result="failed"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_store_calls_total{operation="tokens",result="ok"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_store_call_seconds_count{operation="tick"} 1)"));
}

}  // namespace
}  // namespace horae::testing
