// Claims whose answer does not arrive, and those that are too large, over HTTP.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/claim_answer.h"
#include "http/test_world.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kOwnToken = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";

// A long poll of worker-1, under a token of its own if one is given.
std::string claim_body(std::string_view token = {}, std::string_view wait = "30s", int max = 1) {
  const std::string own = token.empty() ? "" : fmt::format(R"(,"token":"{}")", token);
  return fmt::format(R"({{"owner":"worker-1","queues":["mail"],"wait":"{}","max":{}{}}})", wait, max, own);
}

std::string claim_text(std::string_view token) { return request_text("POST", "/v1/claim", claim_body(token)); }

// A client that cannot be answered any more, which nobody has noticed yet.
class LostClient final : public Exchange {
 public:
  void answer(HttpResponse response, Sent sent) override {
    status = response.status;
    if (sent) sent(false);
    answered.store(true);
    answered.notify_all();
  }
  void stream(HttpResponse, std::shared_ptr<BodyStream>) override {}
  void resume() override {}
  void on_gone(std::function<void()>) override {}
  bool is_gone() const override { return false; }

  std::atomic<bool> answered = false;
  int status = 0;
};

// Claims for a client that is lost, and waits until it was answered in vain.
void claim_in_vain(ApiWorld& world, std::string_view token) {
  const auto client = std::make_shared<LostClient>();
  HttpRequest request{.method = "POST",
                      .path = "/v1/claim",
                      .query = {},
                      .headers = {{"Content-Type", "application/json"}},
                      .body = claim_body(token, "0s"),
                      .peer = "127.0.0.1:1"};
  world.api().handle(std::move(request), Responder(client));
  client->answered.wait(false);
  EXPECT_EQ(client->status, 200);
}

// The only task of what a claim got.
std::string only_task(const TestResponse& response) {
  const auto tasks = items_of(response.body, "tasks");
  return tasks.size() == 1 ? tasks[0] : fmt::format("{} tasks", tasks.size());
}

TEST(ClaimRoute, WhatAWorkerThatHungUpGotUnderItsOwnTokenIsStillItsOwn) {
  ApiWorld world;
  TestClient worker = world.connect();
  ASSERT_TRUE(worker.send(claim_text(kOwnToken)));
  world.wait_for_waiting(1);
  (void)world.submit("other");  // the connection of the test is there, and is counted
  world.gate().hold();
  const std::vector<Submission> submissions = {
      {.task = {.queue = "mail", .spec = "{}"}, .new_id = parse_uuid("0190f7c2-0000-7c3d-8e4f-0123456789ab").value()}};
  ASSERT_TRUE(world.store().tasks().submit(submissions).ok());
  world.advance(1s);
  world.gate().wait_for_held(1);  // its claim is under way
  worker.close();
  world.wait_for_connections(1);
  world.gate().open();
  world.wait_for_waiting(0);
  const std::string task = only_task(world.post("/v1/claim", claim_body(kOwnToken)));
  EXPECT_EQ(member(task, "attempt"), "1");
}

TEST(ClaimRoute, AnAnswerThatWasNotSentIsTakenBack) {
  ApiWorld world;
  (void)world.submit();
  claim_in_vain(world, {});
  const std::string task = only_task(world.post("/v1/claim", claim_body()));
  EXPECT_EQ(member(task, "attempt"), "2");
}

TEST(ClaimRoute, AnAnswerUnderItsOwnTokenThatWasNotSentIsLeftToTheWorker) {
  ApiWorld world;
  const auto id = world.submit();
  claim_in_vain(world, kOwnToken);
  world.stop();  // whatever was on its way to the store has arrived
  const auto held = world.store().tasks().leases_of(parse_uuid(kOwnToken).value()).value();
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_EQ(to_string(held[0].id), id);
}

TEST(ClaimRoute, TheEndTellsAWorkerWhoseClaimMayHaveSucceededThatItIsNotKnown) {
  ApiWorld world;
  TestClient worker = world.connect();
  ASSERT_TRUE(worker.send(claim_text(kOwnToken)));
  world.wait_for_waiting(1);
  world.gate().fail_with(ErrorCode::kUnavailable);
  world.advance(1s);
  world.wait_for_waiting(1);
  world.api().end_waits();
  EXPECT_EQ(worker.receive()->status, 503) << "not an empty list: it would not ask again for what its token holds";
}

// ---- Large answers ----

std::vector<LeasedTask> tasks_of(const std::vector<std::pair<std::int64_t, std::size_t>>& numbers_and_bytes) {
  std::vector<LeasedTask> tasks;
  for (const auto& [number, bytes] : numbers_and_bytes) {
    tasks.push_back({.id = {}, .number = number, .queue = "mail", .spec = std::string(bytes / 2, 'x')});
    tasks.back().checkpoint = std::string(bytes - bytes / 2, 'x');
  }
  return tasks;
}

std::vector<std::int64_t> numbers_of(const std::vector<LeasedTask>& tasks) {
  std::vector<std::int64_t> numbers;
  for (const LeasedTask& task : tasks) numbers.push_back(task.number);
  return numbers;
}

TEST(ClaimAnswer, TheLowestNumbersStayInTheirOrder) {
  constexpr std::size_t kHalf = kMaxClaimBytes / 2;
  auto tasks = tasks_of({{7, kHalf}, {1, 1}, {9, 1}, {3, kHalf - 1}});
  EXPECT_THAT(numbers_of(take_surplus(tasks)), ::testing::ElementsAre(9));
  EXPECT_THAT(numbers_of(tasks), ::testing::ElementsAre(7, 1, 3));
}

TEST(ClaimAnswer, OneTaskAlwaysFits) {
  auto tasks = tasks_of({{2, 1}, {1, kMaxClaimBytes + 1}});
  EXPECT_THAT(numbers_of(take_surplus(tasks)), ::testing::ElementsAre(2));
  EXPECT_THAT(numbers_of(tasks), ::testing::ElementsAre(1));
  EXPECT_THAT(take_surplus(tasks), IsEmpty());
}

TEST(ClaimRoute, WhatDoesNotFitIntoOneAnswerIsReadyForTheNextClaim) {
  ApiWorld world;
  const std::string spec = fmt::format(R"("spec":"{}")", std::string(1'000'000, 'x'));
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(world.post("/v1/tasks", fmt::format(R"({{"queue":"mail",{}}})", spec)).status, 201);
  }
  const auto first = world.post("/v1/claim", claim_body(kOwnToken, "0s", 10));
  EXPECT_THAT(items_of(first.body, "tasks"), SizeIs(8));
  const auto again = world.post("/v1/claim", claim_body(kOwnToken, "0s", 10));
  EXPECT_EQ(again.body, first.body) << "not a task more or less";

  TestClient other = world.connect();
  ASSERT_TRUE(other.send(request_text("POST", "/v1/claim", R"({"owner":"worker-2","queues":["mail"],"wait":"30s"})")));
  const std::string task = only_task(*other.receive());
  EXPECT_EQ(member(task, "attempt"), "2");
}

}  // namespace
}  // namespace horae::testing
