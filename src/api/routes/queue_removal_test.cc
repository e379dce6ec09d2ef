// DELETE /v1/queues/{queue}, and how many queues a token may make.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;

TestResponse remove(ApiWorld& world, std::string_view target) { return world.call("DELETE", target); }

TEST(QueueRemoval, AnEmptyQueueGoesWithItsFinishedTasks) {
  ApiWorld world;
  for (int i = 0; i < 3; ++i) {
    const std::string id = world.submit();
    ASSERT_EQ(world.claim().status, 200);
    ASSERT_EQ(world.settle("complete", id, 1).status, 200);
  }
  const auto answer = remove(world, "/v1/queues/mail");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"name":"mail","cancelled":0,"purged":3})");
  EXPECT_EQ(world.get("/v1/queues/mail").status, 404);
  EXPECT_EQ(remove(world, "/v1/queues/mail").status, 404);
}

TEST(QueueRemoval, AQueueWithTasksIsKeptUnlessTheyAreCancelled) {
  ApiWorld world;
  const std::string running = world.submit();
  ASSERT_EQ(world.claim().status, 200);
  (void)world.submit();
  (void)world.submit("mail", R"("run_at":"2999-01-01T00:00:00Z")");
  const auto refused = remove(world, "/v1/queues/mail");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("cancel_tasks=true"));
  EXPECT_EQ(remove(world, "/v1/queues/mail?cancel_tasks=false").status, 409);
  EXPECT_EQ(text_of(world.get("/v1/tasks/" + running).body, "state"), "running");

  const auto answer = remove(world, "/v1/queues/mail?cancel_tasks=true");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"name":"mail","cancelled":3,"purged":3})");
  EXPECT_THAT(world.settle("complete", running, 1).body, HasSubstr("not_found"));
  EXPECT_THAT(world.get("/v1/tasks/" + running).body, HasSubstr("removed after its retention, or with its queue"));
}

TEST(QueueRemoval, ManyTasksGoInSteps) {
  ApiWorld world;
  std::vector<Submission> batch;
  SeededRandom random(1);
  ManualClock clock;
  UuidSource ids(clock, random);
  for (int round = 0; round < 3; ++round) {
    batch.clear();
    for (std::size_t i = 0; i < kMaxBatch; ++i) {
      batch.push_back({.task = {.queue = "mail", .spec = "{}"}, .new_id = ids.next()});
    }
    ASSERT_TRUE(world.store().tasks().submit(batch).ok());
  }
  EXPECT_EQ(remove(world, "/v1/queues/mail?cancel_tasks=true").body,
            R"({"name":"mail","cancelled":3000,"purged":3000})");
}

TEST(QueueRemoval, RefusesWhatItDoesNotUnderstand) {
  ApiWorld world;
  EXPECT_EQ(remove(world, "/v1/queues/mail?cancel_tasks=yes").status, 400);
  EXPECT_EQ(remove(world, "/v1/queues/no%20name").status, 422);
  world.gate().fail_with(ErrorCode::kUnavailable);
  EXPECT_EQ(remove(world, "/v1/queues/mail").status, 503);
}

// ---- How many queues a token may make ----

class Allowance : public ::testing::Test {
 protected:
  Allowance() {
    world_.caller() = Principal{.token_id = "t-1", .name = "one", .role = Role::kSubmit};
    world_.caller()->allowance = std::make_shared<const QueueAllowance>(QueueAllowance{.token = "t-1", .most = 2});
  }

  TestResponse submit(std::string_view queue) {
    return world_.call("POST", "/v1/tasks", fmt::format(R"({{"queue":"{}","spec":1}})", queue),
                       "Authorization: Bearer known\r\n");
  }

  ApiWorld world_;
};

TEST_F(Allowance, ATokenThatMadeAllItsQueuesGets429ForOneMore) {
  EXPECT_EQ(submit("a").status, 201);
  EXPECT_EQ(submit("b").status, 201);
  const auto refused = submit("c");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.body, HasSubstr("token t-1 has made the 2 queues that it may make"));
  EXPECT_EQ(submit("a").status, 201);
  (void)world_.submit("c");  // another caller
  EXPECT_EQ(submit("c").status, 201);
}

TEST_F(Allowance, HoldsForBatchesAndForTheOtherApi) {
  const auto batch = world_.call("POST", "/v1/tasks/batch",
                                 R"({"tasks":[{"queue":"a","spec":1},{"queue":"b","spec":1},{"queue":"c","spec":1}]})",
                                 "Authorization: Bearer known\r\n");
  EXPECT_EQ(batch.status, 200);
  EXPECT_THAT(items_of(batch.body, "outcomes").at(2), HasSubstr("over_limit"));
  const auto other = world_.call("POST", "/tasks", R"({"command":"1s"})", "Authorization: Bearer known\r\n");
  EXPECT_EQ(other.status, 500) << "that API has no other status for it";
  EXPECT_THAT(other.body, HasSubstr("the limit of queues is reached"));
}

}  // namespace
}  // namespace horae::testing
