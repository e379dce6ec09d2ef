// Settlements and a claim in one call, over HTTP.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kClaimToken = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";

std::string claim_part(std::string_view token = kClaimToken, int max = 1) {
  return fmt::format(R"("claim":{{"queues":["mail"],"max":{},"token":"{}"}})", max, token);
}

std::string completion(std::string_view id, int attempt = 1) {
  return fmt::format(R"({{"event":"complete","id":"{}","attempt":{}}})", id, attempt);
}

std::string exchange_body(std::string_view settlements, std::string_view claim) {
  return fmt::format(R"({{"owner":"worker-1","settlements":[{}],{}}})", settlements, claim);
}

std::string id_of_only_task(const TestResponse& response) {
  const auto tasks = items_of(response.body, "tasks");
  return tasks.size() == 1 ? text_of(tasks[0], "id") : fmt::format("{} tasks: {}", tasks.size(), response.body);
}

TEST(Exchange, SettlesAndClaimsInOneCall) {
  ApiWorld world;
  const std::string first = world.submit();
  const std::string second = world.submit();
  ASSERT_EQ(id_of_only_task(world.claim()), first);
  const auto response = world.post("/v1/exchange", exchange_body(completion(first), claim_part()));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(text_of(items_of(response.body, "outcomes")[0], "verdict"), "accepted");
  EXPECT_EQ(id_of_only_task(response), second);
  EXPECT_EQ(text_of(world.get("/v1/tasks/" + first).body, "state"), "completed");
  EXPECT_EQ(text_of(world.get("/v1/tasks/" + second).body, "owner"), "worker-1");
}

TEST(Exchange, RepeatedAfterALostAnswerGivesTheSameAgain) {
  ApiWorld world;
  const std::string first = world.submit();
  const std::string second = world.submit();
  (void)world.submit();
  (void)world.claim();
  const std::string body = exchange_body(completion(first), claim_part());
  (void)world.post("/v1/exchange", body);
  const auto again = world.post("/v1/exchange", body);
  EXPECT_EQ(text_of(items_of(again.body, "outcomes")[0], "verdict"), "repeated");
  EXPECT_EQ(id_of_only_task(again), second);
}

TEST(Exchange, RefusesABadClaimBeforeAnythingIsDone) {
  ApiWorld world;
  const std::string id = world.submit();
  (void)world.claim();
  const std::vector<std::pair<std::string, std::string>> claims = {
      {R"("claim":{"queues":["mail"]})", "claim.token: it is missing"},
      {R"("claim":{"queues":["a b"],"token":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab"})", "queue"},
      {R"("claim":{"queues":["mail"],"max":0,"token":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab"})", "max 0"},
      {R"("claim":7)", "give an object"},
  };
  for (const auto& [claim, said] : claims) {
    const auto response = world.post("/v1/exchange", exchange_body(completion(id), claim));
    EXPECT_GE(response.status, 400);
    EXPECT_THAT(text_of(response.body, "detail"), HasSubstr(said));
  }
  EXPECT_EQ(text_of(world.get("/v1/tasks/" + id).body, "state"), "running");
}

TEST(Exchange, RefusesBadSettlementsOneByOne) {
  ApiWorld world;
  const std::string first = world.submit();
  const std::string second = world.submit();
  (void)world.claim();
  const auto response =
      world.post("/v1/exchange", exchange_body("7," + completion(first) + "," + completion(first, 9), claim_part()));
  const auto outcomes = items_of(response.body, "outcomes");
  ASSERT_THAT(outcomes, SizeIs(3));
  EXPECT_THAT(outcomes[0], HasSubstr("problem"));
  EXPECT_EQ(text_of(outcomes[1], "verdict"), "accepted");
  EXPECT_EQ(text_of(outcomes[2], "verdict"), "wrong_state");
  EXPECT_EQ(id_of_only_task(response), second);
}

TEST(Exchange, TakesEitherPartAlone) {
  ApiWorld world;
  const std::string id = world.submit();
  const auto claimed = world.post("/v1/exchange", exchange_body("", claim_part()));
  EXPECT_EQ(id_of_only_task(claimed), id);
  EXPECT_EQ(member(claimed.body, "outcomes"), "");
  const auto settled =
      world.post("/v1/exchange", fmt::format(R"({{"owner":"worker-1","settlements":[{}]}})", completion(id)));
  EXPECT_EQ(text_of(items_of(settled.body, "outcomes")[0], "verdict"), "accepted");
  EXPECT_THAT(items_of(settled.body, "tasks"), IsEmpty());
  EXPECT_EQ(world.post("/v1/exchange", R"({"owner":"worker-1"})").status, 422);
}

TEST(Exchange, WaitsForTasksOnlyIfItSettlesNothing) {
  ApiWorld world;
  const std::string first = world.submit();
  (void)world.claim();
  const auto settled = world.post("/v1/exchange", exchange_body(completion(first), claim_part() + R"(,"wait":"30s")"));
  EXPECT_EQ(settled.status, 200);
  TestClient worker = world.connect();
  ASSERT_TRUE(worker.send(request_text("POST", "/v1/exchange", exchange_body("", claim_part() + R"(,"wait":"30s")"))));
  world.wait_for_waiting(1);
  const std::string second = world.submit();
  EXPECT_EQ(id_of_only_task(worker.receive().value()), second);
}

// ---- Attention ----

// A call of worker-1 that waits without a claim.
constexpr std::string_view kWaitAlone = R"({"owner":"worker-1","wait":"30s"})";

TEST(Exchange, AWaitWithoutAClaimEndsWhenATaskOfItsOwnerIsCancelled) {
  ApiWorld world;
  const std::string id = world.submit();
  (void)world.claim();
  TestClient worker = world.connect();
  ASSERT_TRUE(worker.send(request_text("POST", "/v1/exchange", std::string(kWaitAlone))));
  (void)world.get("/v1/tasks/" + id);
  ASSERT_EQ(world.post("/v1/tasks/" + id + "/cancel").status, 200);
  EXPECT_EQ(worker.receive()->body, R"({"tasks":[],"attention":true})");
}

TEST(Exchange, AWaitForTasksEndsWhenATaskOfItsOwnerIsCancelled) {
  ApiWorld world;
  const std::string id = world.submit();
  (void)world.claim();
  for (const std::string path : {"/v1/exchange", "/v1/claim"}) {
    const std::string next = world.submit("other");
    (void)world.claim("other");
    TestClient worker = world.connect();
    const std::string body = path == "/v1/claim" ? R"({"owner":"worker-1","queues":["mail"],"wait":"30s"})"
                                                 : exchange_body("", claim_part() + R"(,"wait":"30s")");
    ASSERT_TRUE(worker.send(request_text("POST", path, body)));
    world.wait_for_waiting(1);
    ASSERT_EQ(world.post("/v1/tasks/" + next + "/cancel").status, 200);
    EXPECT_EQ(worker.receive()->body, R"({"tasks":[],"attention":true})") << path;
  }
}

TEST(Exchange, ACancelWithoutAWaitingCallIsToldWithTheNextOneOnce) {
  ApiWorld world;
  const std::string first = world.submit();
  const std::string second = world.submit();
  (void)world.claim("mail", 2);
  ASSERT_EQ(world.post("/v1/tasks/" + first + "/cancel").status, 200);
  const auto settle = fmt::format(R"({{"owner":"worker-1","settlements":[{}]}})", completion(second));
  EXPECT_EQ(member(world.post("/v1/exchange", settle).body, "attention"), "true");
  EXPECT_EQ(member(world.post("/v1/exchange", settle).body, "attention"), "");
}

TEST(Exchange, ACancelOfATaskThatNobodyRunsIsToldToNobody) {
  ApiWorld world;
  ASSERT_EQ(world.post("/v1/tasks/" + world.submit() + "/cancel").status, 200);
  EXPECT_EQ(world.post("/v1/exchange", exchange_body("", claim_part())).body, R"({"tasks":[]})");
}

// The server notices that the client is gone, and the hint is kept for the next call.
TEST(Exchange, AWaitWithoutAClaimMayBeAbandoned) {
  ApiWorld world;
  const std::string id = world.submit();
  (void)world.claim();
  {
    TestClient worker = world.connect();
    ASSERT_TRUE(worker.send(request_text("POST", "/v1/exchange", std::string(kWaitAlone))));
    world.wait_for_connections(2);
    worker.close();
    world.wait_for_connections(1);
  }
  ASSERT_EQ(world.post("/v1/tasks/" + id + "/cancel").status, 200);
  EXPECT_EQ(member(world.post("/v1/exchange", std::string(kWaitAlone)).body, "attention"), "true");
}

TEST(Exchange, SettlesWhileTheQueueIsPausedAndClaimsNothing) {
  ApiWorld world;
  const std::string first = world.submit();
  (void)world.submit();
  (void)world.claim();
  (void)world.post("/v1/queues/mail/pause");
  const auto response = world.post("/v1/exchange", exchange_body(completion(first), claim_part()));
  EXPECT_EQ(text_of(items_of(response.body, "outcomes")[0], "verdict"), "accepted");
  EXPECT_THAT(items_of(response.body, "tasks"), IsEmpty());
}

TEST(Exchange, OfAnUnavailableStoreIs503AndMayBeRepeated) {
  ApiWorld world;
  const std::string first = world.submit();
  const std::string second = world.submit();
  (void)world.claim();
  const std::string body = exchange_body(completion(first), claim_part());
  world.gate().fail_with(ErrorCode::kUnavailable);
  EXPECT_EQ(world.post("/v1/exchange", body).status, 503);
  world.gate().fail_with(std::nullopt);
  EXPECT_EQ(id_of_only_task(world.post("/v1/exchange", body)), second);
}

}  // namespace
}  // namespace horae::testing
