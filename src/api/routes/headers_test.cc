// Which methods a path supports, and the headers of answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Methods, AnUnsupportedOneNamesThoseOfExactlyThisPath) {
  ApiWorld world;
  const auto expect_allowed = [&](std::string_view method, std::string_view path, const std::string& allowed) {
    const auto answer = world.connect().call(method, path);
    EXPECT_EQ(answer.status, 405) << method << " " << path;
    EXPECT_EQ(answer.headers.contains("allow") ? answer.headers.at("allow") : "none", allowed) << method << " " << path;
  };
  // /v1/tasks/{id} also matches these paths, but they are routes of their own.
  expect_allowed("GET", "/v1/tasks/batch", "POST");
  expect_allowed("GET", "/v1/tasks/cancel", "POST");
  expect_allowed("OPTIONS", "/v1/tasks/batch", "POST");
  expect_allowed("DELETE", "/v1/tasks/cancel", "POST");
  expect_allowed("HEAD", "/v1/tasks/batch", "POST");
  expect_allowed("DELETE", "/v1/tasks", "POST, GET, HEAD");
  expect_allowed("POST", "/v1/tasks/0190f7c2-0a1b-7c3d-8e4f-0123456789ab", "GET, HEAD");
}

TEST(Headers, AnswersWithDataAreNotCached) {
  ApiWorld world;
  for (const char* target : {"/v1/tasks", "/v1/queues", "/v1/scheduler", "/v1/nothing", "/v1/tasks/nonsense", "/tasks",
                             "/metrics", "/v1/tasks?colour=red"}) {
    EXPECT_EQ(world.connect().call("GET", target).headers["cache-control"], "no-store") << target;
  }
  EXPECT_EQ(world.post("/v1/tasks", R"({"queue":"mail","spec":1})").headers["cache-control"], "no-store");
  EXPECT_EQ(world.connect().call("DELETE", "/v1/tasks").headers["cache-control"], "no-store");
  TestClient reader = world.connect();
  ASSERT_TRUE(reader.send(request_text("GET", "/v1/events")));
  EXPECT_EQ(reader.receive(true)->headers["cache-control"], "no-store");
}

TEST(Headers, TheDocsPageRunsItsOwnScriptOnly) {
  ApiWorld world;
  const std::string policy = world.get("/docs").headers.at("content-security-policy");
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy, AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'sha256-"),
                            HasSubstr("style-src 'sha256-"), HasSubstr("base-uri 'none'")));
}

TEST(Queries, AnEmptyValueIsRefused) {
  ApiWorld world;
  for (const char* query : {"queue=", "queue", "created_from=", "limit=", "state=", "cursor=", "owner="}) {
    const auto answer = world.get(std::string("/v1/tasks?") + query);
    EXPECT_EQ(answer.status, 400) << query;
    EXPECT_THAT(answer.body, HasSubstr("leave it out")) << query;
  }
  EXPECT_EQ(world.connect().call("GET", "/v1/events?queue=").status, 400);
  EXPECT_EQ(world.get("/healthz?x=").status, 200) << "probes may ask as they like";
}

}  // namespace
}  // namespace horae::testing
