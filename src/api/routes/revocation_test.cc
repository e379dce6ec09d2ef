// What is open when the token of its caller is revoked: long polls and event streams.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"

namespace horae::testing {
namespace {

using std::literals::operator""s;

constexpr std::string_view kOwnToken = "0190f7c2-5cf0-7c3d-8e4f-0123456789ab";

std::string claim_text(std::string_view token = {}) {
  std::string body = R"({"owner":"worker-1","queues":["mail"],"wait":"30s")";
  if (!token.empty()) body += fmt::format(R"(,"token":"{}")", token);
  return request_text("POST", "/v1/claim", body + "}");
}

void revoke(ApiWorld& world) {
  world.revoke();
  world.api().end_revoked();
}

QueueInfo mail(ApiWorld& world) { return world.store().queues().queues()->queues.at(0); }

TEST(Revocation, EndsALongPollWhichThenLeasesNothing) {
  for (const std::string_view token : {std::string_view(), kOwnToken}) {
    ApiWorld world;
    TestClient worker = world.connect();
    ASSERT_TRUE(worker.send(claim_text(token)));
    world.wait_for_waiting(1);
    revoke(world);
    const auto answer = worker.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 401);
    EXPECT_EQ(problem_of(*answer), "unauthenticated");
    (void)world.submit();
    world.advance(1s);
    world.wait_for_waiting(0);
    EXPECT_EQ(mail(world).ready, 1);
  }
}

TEST(Revocation, ReleasesATaskThatIsLeasedInThisMoment) {
  for (const std::string_view token : {std::string_view(), kOwnToken}) {
    ApiWorld world;
    (void)world.submit();
    TestClient worker = world.connect();
    world.gate().hold();
    ASSERT_TRUE(worker.send(claim_text(token)));
    world.gate().wait_for_held(1);  // its claim is under way
    revoke(world);
    world.gate().open();
    EXPECT_EQ(worker.receive()->status, 401);
    world.stop();  // what was on its way to the store has arrived
    EXPECT_EQ(mail(world).running, 0) << token;
    EXPECT_EQ(mail(world).ready, 1) << token;
  }
}

// The gate admitted the call before, and the wait is entered after end_revoked() has looked.
TEST(Revocation, IsNoticedByAWaitThatBeginsDuringIt) {
  ApiWorld world;
  revoke(world);
  TestClient worker = world.connect();
  ASSERT_TRUE(worker.send(claim_text()));
  EXPECT_EQ(worker.receive()->status, 401);
}

TEST(Revocation, EndsAnEventStream) {
  ApiWorld world;
  TestClient reader = world.connect();
  ASSERT_TRUE(reader.send(request_text("GET", "/v1/events")));
  ASSERT_TRUE(reader.receive(true));
  ASSERT_TRUE(reader.receive_chunk());
  revoke(world);
  EXPECT_EQ(reader.receive_chunk(), "") << "the end of the answer, although there is no event";
  EXPECT_TRUE(reader.is_closed_by_server());
}

TEST(Revocation, SparesCallersWhoseRightsAreUnchanged) {
  ApiWorld world;
  TestClient worker = world.connect();
  TestClient reader = world.connect();
  ASSERT_TRUE(worker.send(claim_text()));
  ASSERT_TRUE(reader.send(request_text("GET", "/v1/events")));
  ASSERT_TRUE(reader.receive(true));
  ASSERT_TRUE(reader.receive_chunk());
  world.wait_for_waiting(1);
  world.api().end_revoked();
  world.events().add(std::vector<LiveEvent>(1, LiveEvent{.task = {}, .state = State::kReady, .queue = "mail"}));
  EXPECT_THAT(reader.receive_chunk().value_or("closed"), ::testing::HasSubstr("event: task"));
  (void)world.submit();
  EXPECT_EQ(worker.receive()->status, 200);
}

}  // namespace
}  // namespace horae::testing
