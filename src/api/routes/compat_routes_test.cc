// What the documents that Horae grew from print, word for word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"
#include "base/json_scan.h"
#include "base/time_text.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::string> all_tasks(ApiWorld& world) {
  const auto response = world.get("/tasks");
  EXPECT_EQ(response.status, 200);
  const auto elements = scan_array(response.body);
  if (!elements.ok()) return {};
  return {elements->begin(), elements->end()};
}

TEST(TaskManagementSystem, ATaskIsScheduledRunsAndFinishes) {
  ApiWorld world;
  const auto posted = world.post("/tasks", R"({"command": "5s"})");
  ASSERT_EQ(posted.status, 200);
  const std::string id = text_of(posted.body, "id");
  EXPECT_EQ(text_of(posted.body, "status"), "SCHEDULED");
  EXPECT_EQ(text_of(posted.body, "command"), "5s");
  EXPECT_EQ(text_of(posted.body, "recurring"), "");

  const auto pending = world.get("/tasks/" + id);
  EXPECT_EQ(text_of(pending.body, "status"), "PENDING");
  EXPECT_EQ(text_of(pending.body, "start_at"), text_of(posted.body, "start_at"));

  const auto leased = items_of(world.claim("tms").body, "tasks");
  ASSERT_THAT(leased, SizeIs(1));
  EXPECT_EQ(member(leased[0], "spec"), R"({"run":"sleep","for":"5s"})");
  EXPECT_EQ(text_of(world.get("/tasks/" + id).body, "status"), "RUNNING");
  (void)world.settle("complete", id, 1);
  EXPECT_EQ(text_of(world.get("/tasks/" + id).body, "status"), "FINISHED");
}

TEST(TaskManagementSystem, ACommandThatCannotRunIsAnInvalidPayload) {
  ApiWorld world;
  const auto refused = world.post("/tasks", R"({"command":"10000h"})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(text_of(refused.body, "detail"), AllOf(HasSubstr("command"), HasSubstr("10000h"), HasSubstr("8784h")));
  EXPECT_EQ(world.post("/tasks", R"({"command":"8784h"})").status, 200) << "a leap year";
  EXPECT_THAT(all_tasks(world), SizeIs(1));
}

TEST(TaskManagementSystem, ATaskWaitsForItsTimeAndRecurs) {
  ApiWorld world;
  const auto posted =
      world.post("/tasks", R"({"command":"10ms","start_at":"2099-01-02T03:04:05+01:00","recurring":"3s"})");
  ASSERT_EQ(posted.status, 200);
  EXPECT_EQ(text_of(posted.body, "start_at"), "2099-01-02T02:04:05Z");
  EXPECT_EQ(text_of(posted.body, "recurring"), "3s");
  const auto task = world.get("/tasks/" + text_of(posted.body, "id"));
  EXPECT_EQ(task.body, posted.body);
}

TEST(TaskManagementSystem, TheListIsABareArrayNewestFirst) {
  ApiWorld world;
  EXPECT_EQ(world.get("/tasks").body, "[]");
  const auto first = text_of(world.post("/tasks", R"({"command":"1s"})").body, "id");
  const auto second = text_of(world.post("/tasks", R"({"command":"2s"})").body, "id");
  (void)world.submit("mail");  // of another queue
  const auto tasks = all_tasks(world);
  ASSERT_THAT(tasks, SizeIs(2));
  EXPECT_EQ(text_of(tasks[0], "id"), second);
  EXPECT_EQ(text_of(tasks[1], "id"), first);
}

TEST(TaskManagementSystem, TheListEndsWithTheNewestThousand) {
  ApiWorld world;
  std::vector<Submission> many;
  for (int i = 0; i < 1000; ++i) {
    Uuid id;
    id.bytes = {1, 2, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)};
    many.push_back({.task = {.queue = "tms", .spec = R"({"run":"sleep","for":"1s"})"}, .new_id = id});
  }
  ASSERT_TRUE(world.store().tasks().submit(many).ok());
  const auto newest = text_of(world.post("/tasks", R"({"command":"2s"})").body, "id");
  const auto tasks = all_tasks(world);
  ASSERT_THAT(tasks, SizeIs(1000));
  EXPECT_EQ(text_of(tasks[0], "id"), newest);
}

TEST(TaskManagementSystem, AnInvalidPayloadIs400AndNamesTheField) {
  ApiWorld world;
  const auto refused = [&](std::string_view body, const std::string& field) {
    const auto response = world.post("/tasks", body);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_THAT(text_of(response.body, "detail"), HasSubstr(field)) << body;
  };
  refused("{}", "command");
  refused(R"({"command":5})", "command");
  refused(R"({"command":"soon"})", "soon");
  refused(R"({"command":"-5s"})", "command");
  refused(R"({"command":"5s","start_at":"tomorrow"})", "start_at");
  refused(R"({"command":"5s","start_at":"2026-11-16T02:14:07"})", "start_at");
  refused(R"({"command":"5s","recurring":"0s"})", "recurring");
  refused(R"({"command":"5s","recurring":"-3s"})", "recurring");
  refused(R"({"command":"5s","recurring":"often"})", "recurring");
  refused(R"({"command":"5s")", "JSON");
}

TEST(TaskManagementSystem, EmptyAndUnknownFieldsAreIgnored) {
  ApiWorld world;
  EXPECT_EQ(world.post("/tasks", R"({"command":"5s","start_at":"","recurring":null,"note":"x"})").status, 200);
}

TEST(TaskManagementSystem, AnUnknownTaskIs404) {
  ApiWorld world;
  EXPECT_EQ(world.get("/tasks/0190f7c2-0a1b-7c3d-8e4f-0123456789ab").status, 404);
  EXPECT_EQ(world.get("/tasks/nonsense").status, 404);
  EXPECT_EQ(world.get("/tasks/" + world.submit("mail")).status, 404);
  EXPECT_THAT(world.get("/tasks/nonsense").body, HasSubstr("Task not found"));
}

TEST(TaskManagementSystem, AnUnavailableStoreIs500WithADetail) {
  ApiWorld world;
  world.gate().fail_with(ErrorCode::kUnavailable);
  for (const auto& response : {world.post("/tasks", R"({"command":"5s"})"), world.get("/tasks"),
                               world.get("/tasks/0190f7c2-0a1b-7c3d-8e4f-0123456789ab")}) {
    EXPECT_EQ(response.status, 500);
    EXPECT_THAT(text_of(response.body, "detail"), HasSubstr("the test made the store unavailable"));
  }
}

TEST(MasterScheduler, StartAndStopHaveTheSpecifiedStatusesAndTexts) {
  ApiWorld world;
  const auto expect = [&](std::string_view target, int status, const std::string& body) {
    const auto response = world.post(target, "{}");
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(response.body, body);
  };
  expect("/scheduler/start", 400, R"({"error":"Scheduler is already running!"})");
  expect("/scheduler/stop", 200, R"({"message":"Scheduler has stopped."})");
  expect("/scheduler/stop", 400, R"({"error":"Scheduler was not running!"})");
  expect("/scheduler/start", 200, R"({"message":"Scheduler has started..."})");
}

}  // namespace
}  // namespace horae::testing
