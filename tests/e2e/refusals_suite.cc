// Refusals of a node, and its responses to repeated calls, on any store.
#include <csignal>

#include "http/test_client.h"
#include "tests/e2e/node.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kManyCalls = 20;

std::uint16_t port_of(const std::string& url) {
  return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}

TEST_P(NodeOn, RefusesRequestsBeyondALimit) {
  const std::string page = "/v1/tasks";
  EXPECT_EQ(TestClient(port_of(url())).call("POST", page, "{}", "Content-Type: text/plain\r\n").status, 415);
  EXPECT_EQ(TestClient(port_of(url())).call("GET", "/" + std::string(9 << 10, 'a')).status, 414);
  const std::string large = "X-Large: " + std::string(20 << 10, 'a') + "\r\n";
  EXPECT_EQ(TestClient(port_of(url())).call("GET", page, "", large).status, 431);
}

TEST_P(NodeOn, RefusesAHeadThatArrivesTooLate) {
  stop();
  start({"--http-head-timeout", "100ms"});
  TestClient client(port_of(url()));
  ASSERT_TRUE(client.send("GET /v1/tasks HTTP/1.1\r\n"));
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 408);
  EXPECT_THAT(answer->body, HasSubstr("did not arrive within"));
}

TEST_P(NodeOn, RequiresATokenWithPermission) {
  const std::string admin = text_in(post("/v1/tokens", R"({"name":"a","role":"admin","queues":["*"]})").body, "secret");
  const std::string reader = text_in(post("/v1/tokens", R"({"name":"r","role":"read","queues":["*"]})").body, "secret");
  stop();
  start({"--http-require-token", "true"});
  EXPECT_EQ(get("/v1/tasks").status, 401);
  EXPECT_EQ(call("GET", "/v1/tasks", "", reader + "x").status, 401);
  EXPECT_EQ(call("GET", "/v1/tasks", "", reader).status, 200);
  const std::string body = R"({"queue":"mail","spec":{}})";
  EXPECT_EQ(call("POST", "/v1/tasks", body, reader).status, 403);
  EXPECT_EQ(call("POST", "/v1/tasks", body, admin).status, 201);
}

TEST_P(NodeOn, RateLimitsAClientAndSaysWhenToRetry) {
  const std::string reader = text_in(post("/v1/tokens", R"({"name":"r","role":"read","queues":["*"]})").body, "secret");
  stop();
  start({"--http-rate-limit", "1", "--http-rate-burst", "2"});
  NetResponse answer;
  for (int i = 0; i < kManyCalls && answer.status != 429; ++i) answer = call("GET", "/v1/tasks", "", reader);
  EXPECT_EQ(answer.status, 429) << answer.body;
  EXPECT_THAT(std::string(answer.header("retry-after")), Not(HasSubstr("0")));
  EXPECT_EQ(get("/v1/tasks").status, 200);  // other clients are not limited
}

TEST_P(NodeOn, RefusesAWorkerThatLostItsTaskToAnother) {
  const std::string id = submit(R"({"queue":"mail","spec":{}})");
  EXPECT_THAT(post("/v1/claim", R"({"owner":"worker-1","queues":["mail"],"lease":"1s"})").body, HasSubstr(id));
  // The second worker waits until the lease of the silent first one expires.
  EXPECT_THAT(post("/v1/claim", R"({"owner":"worker-2","queues":["mail"],"wait":"30s"})").body,
              AllOf(HasSubstr(id), HasSubstr(R"("attempt":2)")));
  EXPECT_THAT(settle(id, 1, "worker-1", "heartbeat"), HasSubstr(R"("verdict":"stale_attempt")"));
  EXPECT_THAT(settle(id, 1, "worker-1", "complete"),
              AllOf(HasSubstr(R"("verdict":"stale_attempt")"), HasSubstr("worker-2")));
  EXPECT_THAT(settle(id, 2, "worker-1", "complete"),
              HasSubstr(R"("verdict":"stale_attempt")"));  // another worker's attempt
  EXPECT_EQ(state_of(id), "running");
  EXPECT_THAT(settle(id, 2, "worker-2", "complete"), HasSubstr(R"("verdict":"accepted")"));
}

TEST_P(NodeOn, ReportsACancelInTheNextHeartbeat) {
  const std::string id = submit(R"({"queue":"mail","spec":{}})");
  (void)post("/v1/claim", R"({"owner":"worker-1","queues":["mail"]})");
  EXPECT_EQ(post("/v1/tasks/" + id + "/cancel", R"({"reason":"enough"})").status, 200);
  EXPECT_THAT(settle(id, 1, "worker-1", "heartbeat"), HasSubstr(R"("verdict":"cancelled")"));
  EXPECT_THAT(settle(id, 1, "worker-1", "complete"), HasSubstr(R"("verdict":"cancelled")"));
  EXPECT_EQ(state_of(id), "cancelled");
}

// ---- Repeated calls, after a lost response ----

TEST_P(NodeOn, ARepeatedClaimWithItsTokenReturnsTheSameTasks) {
  const std::string first = submit(R"({"queue":"mail","spec":{}})");
  (void)submit(R"({"queue":"mail","spec":{}})");
  const std::string claim = R"({"owner":"worker-1","queues":["mail"],"token":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab"})";
  for (int i = 0; i < 2; ++i) {
    const std::string claimed = post("/v1/claim", claim).body;
    EXPECT_THAT(claimed, AllOf(HasSubstr(first), HasSubstr(R"("attempt":1)"))) << "time " << i;
  }
  EXPECT_THAT(get("/v1/tasks?state=running").body, HasSubstr(first));
  EXPECT_THAT(get("/v1/queues").body, HasSubstr(R"("running":1)"));
}

TEST_P(NodeOn, ARepeatedCancelIsReportedAsRepeated) {
  const std::string id = submit(R"({"queue":"mail","spec":{}})");
  const std::string path = "/v1/tasks/" + id + "/cancel";
  EXPECT_THAT(post(path).body, HasSubstr(R"("verdict":"accepted")"));
  const NetResponse again = post(path);
  EXPECT_EQ(again.status, 200);
  EXPECT_THAT(again.body, HasSubstr(R"("verdict":"repeated")"));
}

TEST_P(NodeOn, ARepeatedSubmitWithItsIdMakesOneTask) {
  const std::string id = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";
  const std::string body = R"({"id":")" + id + R"(","queue":"mail","spec":{"n":1}})";
  EXPECT_EQ(submit(body), id);
  const NetResponse again = post("/v1/tasks", body);
  EXPECT_EQ(again.status, 200);
  EXPECT_THAT(again.body, AllOf(HasSubstr(id), HasSubstr(R"("outcome":"present")")));
  EXPECT_EQ(post("/v1/tasks", R"({"id":")" + id + R"(","queue":"mail","spec":{"n":2}})").status, 409);
  EXPECT_THAT(get("/v1/queues").body, HasSubstr(R"("ready":1)"));
}

}  // namespace
}  // namespace horae::testing
