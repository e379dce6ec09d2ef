// Why a task waits, over HTTP.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> reasons(ApiWorld& world, const std::string& id) {
  std::vector<std::string> codes;
  for (const std::string& reason : items_of(world.get("/v1/tasks/" + id + "/explain").body, "reasons")) {
    codes.push_back(text_of(reason, "code"));
  }
  return codes;
}

std::string detail(ApiWorld& world, const std::string& id, std::string_view code) {
  for (const std::string& reason : items_of(world.get("/v1/tasks/" + id + "/explain").body, "reasons")) {
    if (text_of(reason, "code") == code) return text_of(reason, "detail");
  }
  return fmt::format("{} is no reason", code);
}

// Records that a worker is waiting for tasks of the queue.
void note_awaited(ApiWorld& world, const std::string& queue) {
  const auto noted = world.store().cluster().tick({.self = {.id = "worker-0"}, .awaited = {queue}});
  ASSERT_TRUE(noted.ok());
}

TEST(ExplainRoute, APausedQueueIsReportedEvenWhileTheSchedulerIsStopped) {
  ApiWorld world;
  const auto id = world.submit("mail");
  const auto other = world.submit("other");
  note_awaited(world, "mail");
  note_awaited(world, "other");
  (void)world.post("/v1/queues/mail/pause");
  EXPECT_THAT(reasons(world, id), ElementsAre("queue_paused"));
  (void)world.post("/v1/scheduler/stop");
  EXPECT_THAT(reasons(world, id), ElementsAre("scheduler_stopped", "queue_paused"));
  EXPECT_THAT(reasons(world, other), ElementsAre("scheduler_stopped"));
  (void)world.post("/v1/scheduler/start");
  EXPECT_THAT(reasons(world, id), ElementsAre("queue_paused"));
}

TEST(ExplainRoute, ATaskThatIsNotDueSaysWhenItIs) {
  ApiWorld world;
  const auto id = world.submit("mail", R"("run_at":"2100-01-02T03:04:05Z")");
  EXPECT_THAT(reasons(world, id), ElementsAre("not_due"));
  EXPECT_THAT(detail(world, id, "not_due"), HasSubstr("2100-01-02T03:04:05"));
}

TEST(ExplainRoute, AnAbortedTaskHasItsErrors) {
  ApiWorld world;
  const auto id = world.submit("mail");
  EXPECT_EQ(member(world.get("/v1/tasks/" + id + "/explain").body, "errors"), "");
  (void)world.claim();
  (void)world.settle("abort", id, 1, R"("errors":[{"code":"no_disk","args":{"x":1.0},"description":"full"}])");
  const std::string explained = world.get("/v1/tasks/" + id + "/explain").body;
  EXPECT_EQ(member(explained, "errors"), R"([{"code":"no_disk","args":{"x":1.0},"description":"full"}])");
  EXPECT_THAT(detail(world, id, "finished"), HasSubstr("no_disk: full"));
}

// A task that is leased to the node.
std::string leased_to(ApiWorld& world, const std::string& owner) {
  const auto id = world.submit("mail");
  const std::vector<ClaimWish> wishes = {{.owner = owner, .queues = {"mail"}, .token = *parse_uuid(id)}};
  EXPECT_TRUE(world.store().tasks().claim(wishes).ok());
  return id;
}

TEST(ExplainRoute, ATaskOfThisNodeWaitsOrRuns) {
  ApiWorld world;
  const auto runs = leased_to(world, "worker-0");
  const auto waits = leased_to(world, "worker-0");
  world.status().backlog = {{.position = {.level = 205}, .task = *parse_uuid(waits), .queue = "mail", .attempt = 1}};
  EXPECT_THAT(reasons(world, runs), ElementsAre("running"));
  EXPECT_THAT(reasons(world, waits), ElementsAre("in_backlog"));
}

TEST(ExplainRoute, ATaskOfAnotherNodeNamesItsAddress) {
  ApiWorld world;
  ASSERT_TRUE(world.store().cluster().tick({.self = {.id = "worker-3", .address = "10.0.0.3:3369"}}).ok());
  const auto id = leased_to(world, "worker-3");
  EXPECT_THAT(detail(world, id, "running"), HasSubstr("10.0.0.3:3369"));
  EXPECT_THAT(detail(world, leased_to(world, "worker-9"), "running"), HasSubstr("attempt 1 on worker-9"));
}

TEST(ExplainRoute, ATaskBehindOthersSaysHowMany) {
  ApiWorld world;
  const auto first = world.submit("mail");
  const auto second = world.submit("mail");
  const auto third = world.submit("mail");
  note_awaited(world, "mail");
  EXPECT_THAT(reasons(world, first), ElementsAre("next"));
  EXPECT_THAT(reasons(world, third), ElementsAre("behind_others"));
  EXPECT_THAT(detail(world, second, "behind_others"), HasSubstr("1 task is ahead"));
  EXPECT_THAT(detail(world, third, "behind_others"), HasSubstr("2 tasks are ahead"));
  EXPECT_EQ(member(world.get("/v1/tasks/" + third + "/explain").body, "ahead"), "2");
}

TEST(ExplainRoute, AQueueWithoutWorkersSaysSinceWhen) {
  ApiWorld world;
  const auto id = world.submit("mail");
  EXPECT_THAT(detail(world, id, "no_worker"), HasSubstr("no worker is known"));
  note_awaited(world, "mail");
  const std::string then = text_of(world.get("/v1/tasks/" + id).body, "created_at").substr(0, 19);  // to the second
  world.advance(15s);
  EXPECT_THAT(reasons(world, id), ElementsAre("next")) << "it was a moment ago";
  world.advance(1s);
  EXPECT_THAT(reasons(world, id), ElementsAre("no_worker"));
  EXPECT_THAT(detail(world, id, "no_worker"), HasSubstr("since " + then));
}

}  // namespace
}  // namespace horae::testing
