// Callers without a known token, and tokens that ask for more than their share.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::string_view kSecret = "Authorization: Bearer secret\r\n";

ApiOptions strict_options() {
  ApiOptions options;
  options.gate.require_token = true;
  return options;
}

std::string unfinished(std::string_view path, std::string_view headers = {}) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: 1000000\r\n\r\n", path, headers);
}

TEST(Strangers, TheirBodiesAreRefusedBeforeTheyArrive) {
  ApiWorld world(strict_options());
  for (const char* path : {"/v1/tasks", "/v1/settle", "/readyz", "/nowhere"}) {
    TestClient client = world.connect();
    ASSERT_TRUE(client.send(unfinished(path)));
    const auto refused = client.receive();
    ASSERT_TRUE(refused.has_value()) << path;
    EXPECT_GE(refused->status, 401) << path;
    EXPECT_TRUE(client.is_closed_by_server()) << path;
  }
}

TEST(Strangers, ATokenWithoutTheRightSendsNoBodyEither) {
  ApiWorld world(strict_options());
  world.caller() = Principal{.token_id = "t-1", .role = Role::kRead};
  TestClient client = world.connect();
  ASSERT_TRUE(client.send(unfinished("/v1/tasks", kSecret)));
  EXPECT_EQ(client.receive()->status, 403);
  world.caller() = Principal{.token_id = "t-1", .role = Role::kSubmit};
  EXPECT_EQ(world.call("POST", "/v1/tasks", R"({"queue":"mail","spec":1})", kSecret).status, 201);
}

TEST(Strangers, AreThoseWithoutAKnownToken) {
  ApiWorld world(strict_options());
  TestClient client = world.connect();
  EXPECT_EQ(client.call("GET", "/healthz").status, 200);
  EXPECT_EQ(client.call("GET", "/v1/tasks", {}, kSecret).status, 401);
  EXPECT_EQ(world.server().strangers(), 1U);
  world.caller() = Principal{.token_id = "t-1"};
  EXPECT_EQ(client.call("GET", "/v1/tasks", {}, kSecret).status, 200);
  EXPECT_EQ(world.server().strangers(), 0U);
}

TEST(Strangers, WithoutTokensEveryLocalCallerIsKnown) {
  ApiWorld world;
  TestClient client = world.connect();
  EXPECT_EQ(client.call("GET", "/healthz").status, 200);
  EXPECT_EQ(client.call("GET", "/nowhere").status, 404);
  EXPECT_EQ(client.call("GET", "/v1/tasks").status, 200);
  EXPECT_EQ(world.server().strangers(), 0U);
}

TEST(Readyz, IsAnsweredFromMemory) {
  ApiWorld world;
  world.gate().hold();  // a query would wait
  TestClient client = world.connect();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(client.call("GET", "/readyz").status, 200);
  world.gate().open();
}

TEST(TokenLimits, AWaitBeyondThoseOfTheTokenIsRefused) {
  ApiOptions options;
  options.token.waiting_calls = 1;
  ApiWorld world(options);
  world.caller() = Principal{.token_id = "t-1"};
  const std::string wait = R"({"owner":"worker-1","queues":["mail"],"wait":"30s"})";
  TestClient first = world.connect();
  ASSERT_TRUE(first.send(request_text("POST", "/v1/claim", wait, kSecret)));
  world.wait_for_waiting(1);
  const auto refused = world.call("POST", "/v1/claim", wait, kSecret);
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.body, HasSubstr("token t-1 has 1 calls waiting"));
  EXPECT_EQ(world.call("POST", "/v1/claim", R"({"owner":"worker-1","queues":["mail"]})", kSecret).status, 200)
      << "without a wait";
  first.close();
  world.wait_for_waiting(0);
  TestClient second = world.connect();
  ASSERT_TRUE(second.send(request_text("POST", "/v1/claim", wait, kSecret)));
  world.wait_for_waiting(1);
}

TEST(TokenLimits, ReadsOfOneTokenLeaveRoomForOthers) {
  ApiOptions options;
  options.read_threads = 1;
  options.max_waiting_reads = 4;
  ApiWorld world(options);
  world.gate().hold();
  TestClient running = world.connect();
  ASSERT_TRUE(running.send(request_text("GET", "/v1/queues")));
  world.gate().wait_for_held(1);
  world.caller() = Principal{.token_id = "t-1"};
  TestClient first = world.connect();
  ASSERT_TRUE(first.send(request_text("GET", "/v1/queues", {}, kSecret)));
  TestClient second = world.connect();
  ASSERT_TRUE(second.send(request_text("GET", "/v1/queues", {}, kSecret)));
  // One of the two waits; the other one is refused.
  TestClient third = world.connect();
  EXPECT_EQ(third.call("GET", "/v1/queues", {}, kSecret).status, 503);
  TestClient other = world.connect();
  ASSERT_TRUE(other.send(request_text("GET", "/v1/queues")));
  world.gate().open();
  EXPECT_EQ(other.receive()->status, 200);
}

// ---- Memory ----

TEST(OutOfMemory, ARequestGets503AndTheNodeLivesOn) {
  ApiWorld world;
  const std::string id = world.submit();
  world.gate().exhaust_memory(true);
  EXPECT_EQ(world.get("/v1/tasks").status, 503);
  EXPECT_EQ(world.get("/v1/tasks/" + id).status, 503);
  EXPECT_EQ(world.post("/v1/tasks", R"({"queue":"mail","spec":1})").status, 503);
  EXPECT_EQ(world.claim().status, 503);
  EXPECT_EQ(world.settle("complete", id, 1).status, 503);
  EXPECT_EQ(world.post("/v1/tasks/" + id + "/cancel").status, 503);
  world.check_readiness();
  EXPECT_EQ(world.get("/readyz").status, 503);
  world.gate().exhaust_memory(false);
  EXPECT_EQ(world.get("/v1/tasks/" + id).status, 200);
  world.check_readiness();
  EXPECT_EQ(world.get("/readyz").status, 200);
}

TEST(OutOfMemory, AnAnswerThatCannotBeMadeIs503) {
  class Slot final : public AnswerSlot {
   public:
    void answer(HttpResponse response, Sent) override { status = response.status; }
    void stream(HttpResponse, std::shared_ptr<BodyStream>) override {}
    void resume() override {}
    void on_gone(std::function<void()>) override {}
    bool is_gone() const override { return false; }
    int status = 0;
  };
  const auto slot = std::make_shared<Slot>();
  const Call call{.request = {}, .responder = Responder(slot), .route = routes().data()};
  EXPECT_FALSE(call.run([] { throw std::bad_alloc(); }));
  EXPECT_EQ(slot->status, 503);
  EXPECT_TRUE(call.run([&] { call.answer(200, "{}"); }));
  EXPECT_EQ(slot->status, 200);
}

}  // namespace
}  // namespace horae::testing
