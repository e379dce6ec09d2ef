// /v1/delay: delay queues and their messages.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"
#include "base/time_text.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kMessages[] = "/v1/delay/orders/messages";

TestResponse put(ApiWorld& world, std::string_view body) { return world.post(kMessages, body); }
TestResponse message(ApiWorld& world, std::string_view id) { return world.get(fmt::format("{}/{}", kMessages, id)); }
TestResponse remove(ApiWorld& world, std::string_view id) {
  return world.call("DELETE", fmt::format("{}/{}", kMessages, id));
}
TestResponse move(ApiWorld& world, std::string_view id, std::string_view body) {
  return world.call("PATCH", fmt::format("{}/{}", kMessages, id), body);
}

// As a relay does.
std::vector<ReadiedMessage> ready(ApiWorld& world) {
  return world.store()
      .messages()
      .turn({.delay_queue = "orders", .ready = {.max = 10, .max_bytes = 1000}})
      .value()
      .readied;
}

// ---- Put, get ----

TEST(DelayRoutes, AMessageIsStoredAsItIsAndShown) {
  ApiWorld world;
  const auto answer = put(world, R"({"id":"a/1","deadline":"2999-01-01T00:00:00Z","key":"k","value":{"base64":"AP8="},)"
                                 R"("headers":[{"trace":"1"},{"trace":"2"},{"none":null}]})");
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, R"({"id":"a/1","outcome":"created"})");
  EXPECT_EQ(world.delay_queues().puts, 1);
  const auto shown = message(world, "a%2F1");
  EXPECT_EQ(shown.status, 200);
  EXPECT_EQ(shown.body,
            R"({"id":"a/1","state":"waiting","deadline":"2999-01-01T00:00:00Z","due":"2999-01-01T00:00:00Z","key":"k",)"
            R"("value":{"base64":"AP8="},"headers":[{"trace":"1"},{"trace":"2"},{"none":null}],"readied_at":null,)"
            R"("readied_by":null})");
  const auto stored = world.store().messages().get("orders", std::vector<std::string>{"a/1"}).value().at(0);
  EXPECT_EQ(stored->message.value, std::string("\0\xff", 2));
}

TEST(DelayRoutes, APutThatIsRepeatedChangesNothing) {
  ApiWorld world;
  ASSERT_EQ(put(world, R"({"id":"m","delay":"1h","value":"1"})").status, 201);
  const auto again = put(world, R"({"id":"m","delay":"2h","value":"2"})");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, R"({"id":"m","outcome":"present"})");
  EXPECT_EQ(text_of(message(world, "m").body, "value"), "1");
}

TEST(DelayRoutes, WithoutAnIdOneIsMade) {
  ApiWorld world;
  const auto first = put(world, R"({"delay":"1h"})");
  const auto second = put(world, R"({"delay":"1h"})");
  EXPECT_EQ(first.status, 201);
  EXPECT_NE(text_of(first.body, "id"), text_of(second.body, "id"));
  EXPECT_EQ(member(message(world, text_of(first.body, "id")).body, "value"), "null");
}

TEST(DelayRoutes, ADelayCountsFromNow) {
  ApiWorld world;
  ASSERT_EQ(put(world, R"({"id":"m","delay":"90s"})").status, 201);
  EXPECT_EQ(text_of(message(world, "m").body, "deadline"),
            format_instant(world.clock().wall_now() + std::chrono::seconds(90)));
}

TEST(DelayRoutes, WhatIsLateIsStoredAsWell) {
  ApiWorld world;
  EXPECT_EQ(put(world, R"({"id":"m","deadline":"2001-01-01T00:00:00Z"})").status, 201);
  EXPECT_EQ(message(world, "m").status, 200);
}

TEST(DelayRoutes, AnIdThatIsBeingFiredIsRefusedUntilItIsGone) {
  ApiWorld world;
  ASSERT_EQ(put(world, R"({"id":"m","delay":"0s"})").status, 201);
  const auto readied = ready(world);
  const auto refused = put(world, R"({"id":"m","delay":"1h"})");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(problem_of(refused), "firing");
  const std::vector<Readying> fired = {readied.at(0).readying};
  (void)world.store().messages().turn({.delay_queue = "orders", .fired = fired}).value();
  EXPECT_EQ(put(world, R"({"id":"m","delay":"1h"})").status, 201);
}

// Published before its deadline, by the advance of the node that fires it, it may be with a receiver already.
TEST(DelayRoutes, AnIdWhoseMessageMayBeWithItsReceiverIsRefused) {
  ApiWorld world;
  ASSERT_EQ(put(world, R"({"id":"m","delay":"201ms"})").status, 201);
  EXPECT_EQ(put(world, R"({"id":"m","delay":"1h"})").status, 200);
  world.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(problem_of(put(world, R"({"id":"m","delay":"1h"})")), "firing");
}

TEST(DelayRoutes, ABatchHasAnOutcomeForEach) {
  ApiWorld world;
  ASSERT_EQ(put(world, R"({"id":"firing","delay":"0s"})").status, 201);
  (void)ready(world);
  const auto answer = world.post("/v1/delay/orders/messages/batch",
                                 R"({"messages":[{"id":"a","delay":"1h"},{"id":"b"},{"id":"a","delay":"1h"},)"
                                 R"({"id":"firing","delay":"1h"},{"id":"c","delay":"1h","value":"\u0000"}]})");
  EXPECT_EQ(answer.status, 200);
  const auto outcomes = items_of(answer.body, "outcomes");
  ASSERT_EQ(outcomes.size(), 5U);
  EXPECT_EQ(outcomes[0], R"({"id":"a","outcome":"created"})");
  EXPECT_EQ(text_of(outcomes[1], "id"), "b");
  EXPECT_THAT(outcomes[1], HasSubstr("urn:horae:problem:malformed"));
  EXPECT_EQ(outcomes[2], R"({"id":"a","outcome":"present"})");
  EXPECT_THAT(outcomes[3], HasSubstr("urn:horae:problem:firing"));
  EXPECT_EQ(outcomes[4], R"({"id":"c","outcome":"created"})");
}

TEST(DelayRoutes, WhatIsWrongIsNamed) {
  ApiWorld world;
  const auto detail = [&](std::string_view body) {
    const auto answer = put(world, body);
    EXPECT_EQ(answer.status, 400) << body;
    return text_of(answer.body, "detail");
  };
  EXPECT_THAT(detail(R"({"id":"m"})"), HasSubstr("deadline"));
  EXPECT_THAT(detail(R"({"id":"m","delay":"1s","deadline":"2999-01-01T00:00:00Z"})"), HasSubstr("either"));
  EXPECT_THAT(detail(R"({"id":"","delay":"1s"})"), HasSubstr("1 to 128 characters"));
  EXPECT_THAT(detail(R"({"delay":"1s","value":{"base64":"?"}})"), HasSubstr("value"));
  EXPECT_THAT(detail(R"({"delay":"1s","value":1})"), HasSubstr("value"));
  EXPECT_THAT(detail(R"({"delay":"1s","headers":{"a":"b"}})"), HasSubstr("headers"));
  EXPECT_THAT(detail(R"({"delay":"1s","more":1})"), HasSubstr("more"));
  EXPECT_EQ(world.delay_queues().puts, 0);
}

// ---- List ----

TEST(DelayRoutes, MessagesAreListedPageByPage) {
  ApiWorld world;
  for (const char* id : {"c", "a", "b"}) {
    ASSERT_EQ(put(world, fmt::format(R"({{"id":"{}","deadline":"2999-01-01T00:00:00Z"}})", id)).status, 201);
  }
  const auto first = world.get(fmt::format("{}?limit=2", kMessages));
  EXPECT_EQ(first.status, 200);
  ASSERT_EQ(items_of(first.body, "messages").size(), 2U);
  EXPECT_EQ(text_of(items_of(first.body, "messages")[0], "id"), "a");
  const auto second = world.get(fmt::format("{}?limit=2&cursor={}", kMessages, text_of(first.body, "next")));
  ASSERT_EQ(items_of(second.body, "messages").size(), 1U);
  EXPECT_EQ(text_of(items_of(second.body, "messages")[0], "id"), "c");
  EXPECT_EQ(member(second.body, "next"), "null");
  EXPECT_EQ(items_of(world.get(fmt::format("{}?state=ready", kMessages)).body, "messages").size(), 0U);
  for (const char* query : {"state=done", "limit=0", "limit=x", "cursor=x"}) {
    EXPECT_EQ(world.get(fmt::format("{}?{}", kMessages, query)).status, 400) << query;
  }
}

// ---- Cancel, move ----

TEST(DelayRoutes, AWaitingMessageIsCancelledOrMoved) {
  ApiWorld world;
  ASSERT_EQ(put(world, R"({"id":"m","delay":"1h"})").status, 201);
  const auto moved = move(world, "m", R"({"deadline":"2999-01-01T00:00:00Z"})");
  EXPECT_EQ(moved.status, 200);
  EXPECT_EQ(moved.body, R"({"id":"m","deadline":"2999-01-01T00:00:00Z"})");
  EXPECT_EQ(world.delay_queues().puts, 2);
  EXPECT_EQ(text_of(message(world, "m").body, "deadline"), "2999-01-01T00:00:00Z");
  EXPECT_EQ(move(world, "m", "{}").status, 400);
  EXPECT_EQ(remove(world, "m").status, 204);
  EXPECT_EQ(remove(world, "m").status, 404);
  EXPECT_EQ(move(world, "m", R"({"delay":"1s"})").status, 404);
  EXPECT_EQ(message(world, "m").status, 404);
}

TEST(DelayRoutes, OnceItIsReadyItIsTooLate) {
  ApiWorld world;
  ASSERT_EQ(put(world, R"({"id":"m","delay":"0s"})").status, 201);
  (void)ready(world);
  EXPECT_EQ(remove(world, "m").status, 409);
  EXPECT_EQ(problem_of(move(world, "m", R"({"delay":"1s"})")), "wrong_state");
  EXPECT_EQ(text_of(message(world, "m").body, "state"), "ready");
}

// ---- Queues ----

TEST(DelayRoutes, QueuesShowTheirStatus) {
  ApiWorld world;
  const auto all = items_of(world.get("/v1/delay").body, "queues");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(text_of(all[1], "name"), "orders");
  const auto one = world.get("/v1/delay/orders");
  EXPECT_EQ(one.status, 200);
  EXPECT_EQ(text_of(one.body, "lateness_p50"), "2ms");
  EXPECT_THAT(one.body, HasSubstr(R"("bad":[{"reason":"no_id","records":2}])"));
  EXPECT_THAT(one.body, HasSubstr("topic orders.out does not exist"));
}

TEST(DelayRoutes, AQueueThatIsNotConfiguredIsNotFound) {
  ApiWorld world;
  EXPECT_EQ(world.get("/v1/delay/nowhere").status, 404);
  EXPECT_EQ(world.get("/v1/delay/nowhere/messages").status, 404);
  EXPECT_EQ(world.get("/v1/delay/nowhere/messages/m").status, 404);
  EXPECT_EQ(world.post("/v1/delay/nowhere/messages", R"({"delay":"1s"})").status, 404);
  EXPECT_EQ(world.post("/v1/delay/nowhere/messages/batch", R"({"messages":[{"delay":"1s"}]})").status, 404);
  EXPECT_EQ(world.call("DELETE", "/v1/delay/nowhere/messages/m").status, 404);
  EXPECT_EQ(world.call("PATCH", "/v1/delay/nowhere/messages/m", R"({"delay":"1s"})").status, 404);
}

TEST(DelayRoutes, ATokenSeesAndUsesItsOwnQueuesOnly) {
  ApiWorld world({.gate = {.require_token = true}});
  world.caller() = Principal{.token_id = "t-1",
                             .name = "one",
                             .role = Role::kSubmit,
                             .scope = std::make_shared<const QueueScope>(QueueScope::of({"pay*"}).value())};
  const auto call = [&](std::string_view method, std::string_view target, std::string_view body = {}) {
    return world.call(method, target, body, "Authorization: Bearer x\r\n");
  };
  EXPECT_EQ(items_of(call("GET", "/v1/delay").body, "queues").size(), 1U);
  EXPECT_EQ(call("GET", "/v1/delay/orders").status, 403);
  EXPECT_EQ(call("POST", kMessages, R"({"delay":"1s"})").status, 403);
  EXPECT_EQ(call("DELETE", "/v1/delay/orders/messages/m").status, 403);
  EXPECT_EQ(call("POST", "/v1/delay/payments/messages", R"({"delay":"1s"})").status, 201);
}

}  // namespace
}  // namespace horae::testing
