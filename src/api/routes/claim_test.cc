// Claims whose answer does not arrive, and those that are too large, over HTTP.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/json/claim_answer.h"
#include "api/test_world.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::string_view kOwnToken = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";

// A long poll of worker-1, under a token of its own if one is given.
std::string claim_body(std::string_view token = {}, std::string_view wait = "30s", int max = 1) {
  const std::string own = token.empty() ? "" : fmt::format(R"(,"token":"{}")", token);
  return fmt::format(R"({{"owner":"worker-1","queues":["mail"],"wait":"{}","max":{}{}}})", wait, max, own);
}

std::string claim_text(std::string_view token) { return request_text("POST", "/v1/claim", claim_body(token)); }

// A client that can no longer be reached, though the server has not noticed yet.
class LostClient final : public AnswerSlot {
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

// Claims for a lost client, and waits until the answer to it has failed.
void claim_for_lost_client(ApiWorld& world, std::string_view token) {
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

TEST(ClaimRoute, ADisconnectedWorkerKeepsTheLeasesOfItsToken) {
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

TEST(ClaimRoute, ATokenThatHoldsTasksOfAnotherOwnerIsRefused) {
  ApiWorld world;
  const auto id = world.submit();
  (void)world.submit();
  (void)only_task(world.post("/v1/claim", claim_body(kOwnToken, "0s")));
  const auto refused = world.post(
      "/v1/claim", fmt::format(R"({{"owner":"worker-2","queues":["mail"],"wait":"0s","token":"{}"}})", kOwnToken));
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("tasks of another owner are leased under this token"));
  EXPECT_THAT(refused.body, Not(HasSubstr(id)));
  EXPECT_THAT(only_task(world.post("/v1/claim", claim_body(kOwnToken, "0s"))), HasSubstr(id));
}

// Its first claim is in the store when it hangs up and comes again.
TEST(ClaimRoute, ATokenRepeatedDuringItsClaimGetsOneBatch) {
  ApiWorld world;
  for (int i = 0; i < 3; ++i) (void)world.submit();
  TestClient first = world.connect();
  world.gate().hold();
  ASSERT_TRUE(first.send(claim_text(kOwnToken)));
  world.gate().wait_for_held(1);
  first.close();
  world.wait_for_connections(1);
  TestClient second = world.connect();
  ASSERT_TRUE(second.send(claim_text(kOwnToken)));
  world.wait_for_arrivals(1);
  world.gate().open();
  const std::string task = only_task(*second.receive());
  EXPECT_EQ(member(task, "attempt"), "1");
  EXPECT_EQ(world.store().queues().queues()->queues.at(0).running, 1) << "no task that the worker has not seen";
}

// The clock of the node does not advance: a wait would never end.
TEST(ClaimRoute, AServedTokenIsAnsweredWithoutWaiting) {
  ApiWorld world;
  const auto id = world.submit();
  (void)world.submit();
  (void)only_task(world.post("/v1/claim", claim_body(kOwnToken)));
  ASSERT_EQ(world.settle("complete", id, 1).status, 200);
  EXPECT_EQ(world.post("/v1/claim", claim_body(kOwnToken)).body, R"({"tasks":[]})");
}

TEST(ClaimRoute, LeasesOutsideTheCallersScopeAreLeftOut) {
  ApiWorld world;
  (void)world.submit();
  (void)only_task(world.post("/v1/claim", claim_body(kOwnToken)));
  world.caller() = Principal{.token_id = "t-1",
                             .name = "one",
                             .role = Role::kWork,
                             .scope = std::make_shared<const QueueScope>(QueueScope::of({"other"}).value())};
  const auto answer =
      world.call("POST", "/v1/claim",
                 fmt::format(R"({{"owner":"worker-1","queues":["other"],"wait":"30s","token":"{}"}})", kOwnToken),
                 "Authorization: Bearer known\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"tasks":[]})");
}

TEST(ClaimRoute, EndWaitsReportsAnUnknownOutcomeToAWorkerNotYetServed) {
  ApiWorld world;
  (void)world.submit();
  (void)only_task(world.post("/v1/claim", claim_body(kOwnToken)));
  TestClient other = world.connect();
  TestClient worker = world.connect();
  world.gate().hold();
  ASSERT_TRUE(other.send(claim_text({})));
  world.gate().wait_for_held(1);
  ASSERT_TRUE(worker.send(claim_text(kOwnToken)));
  world.wait_for_arrivals(1);
  world.api().end_waits();
  EXPECT_EQ(worker.receive()->status, 503) << "not an empty list: its token holds a task";
  world.gate().open();
}

TEST(ClaimRoute, ReleasesTasksOfAnAnswerThatWasNotSent) {
  ApiWorld world;
  (void)world.submit();
  claim_for_lost_client(world, {});
  const std::string task = only_task(world.post("/v1/claim", claim_body()));
  EXPECT_EQ(member(task, "attempt"), "2");
}

TEST(ClaimRoute, KeepsTasksOfAnUnsentAnswerLeasedUnderTheWorkersToken) {
  ApiWorld world;
  const auto id = world.submit();
  claim_for_lost_client(world, kOwnToken);
  world.stop();  // whatever was on its way to the store has arrived
  const auto held = world.store().tasks().leases_of(parse_uuid(kOwnToken).value()).value();
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_EQ(to_string(held[0].id), id);
}

TEST(ClaimRoute, EndWaitsReportsAnUnknownOutcomeIfTheClaimMayHaveSucceeded) {
  ApiWorld world;
  TestClient worker = world.connect();
  ASSERT_TRUE(worker.send(claim_text(kOwnToken)));
  world.wait_for_waiting(1);
  world.gate().fail_with(ErrorCode::kUnavailable);
  world.advance(1s);
  world.wait_for_waiting(1);
  world.api().end_waits();
  EXPECT_EQ(worker.receive()->status, 503)
      << "not an empty list: the worker would not repeat the claim for the leases of its token";
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

TEST(ClaimAnswer, KeepsTheLowestNumbersInTheirOrder) {
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

// More than one answer can carry.
void submit_ten_large_ones(ApiWorld& world) {
  const std::string spec = fmt::format(R"("spec":"{}")", std::string(1'000'000, 'x'));
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(world.post("/v1/tasks", fmt::format(R"({{"queue":"mail",{}}})", spec)).status, 201);
  }
}

TEST(ClaimRoute, ReleasesTasksThatExceedOneAnswer) {
  ApiWorld world;
  submit_ten_large_ones(world);
  const auto first = world.post("/v1/claim", claim_body({}, "0s", 10));
  EXPECT_THAT(items_of(first.body, "tasks"), SizeIs(8));
  EXPECT_EQ(member(first.body, "rest"), "");

  TestClient other = world.connect();
  ASSERT_TRUE(other.send(request_text("POST", "/v1/claim", R"({"owner":"worker-2","queues":["mail"],"wait":"30s"})")));
  const std::string task = only_task(*other.receive());
  EXPECT_EQ(member(task, "attempt"), "2");
}

TEST(ClaimRoute, KeepsTasksThatExceedOneAnswerLeasedUnderTheWorkersToken) {
  ApiWorld world;
  submit_ten_large_ones(world);
  const auto first = world.post("/v1/claim", claim_body(kOwnToken, "0s", 10));
  const auto tasks = items_of(first.body, "tasks");
  EXPECT_THAT(tasks, SizeIs(8));
  const auto rest = items_of(first.body, "rest");
  ASSERT_THAT(rest, SizeIs(1)) << "the store leases no more than the one that exceeds the answer";
  const auto again = world.post("/v1/claim", claim_body(kOwnToken, "0s", 10));
  EXPECT_EQ(again.body, first.body) << "not a task more or less";

  for (const std::string& task : tasks) (void)world.settle("complete", text_of(task, "id"), 1);
  const auto last = world.post("/v1/claim", claim_body(kOwnToken, "0s", 10));
  const auto rest_tasks = items_of(last.body, "tasks");
  ASSERT_THAT(rest_tasks, SizeIs(1));
  EXPECT_EQ(text_of(rest_tasks[0], "id"), text_of(rest[0], "id"));
  EXPECT_EQ(member(rest_tasks[0], "attempt"), member(rest[0], "attempt"));
  EXPECT_EQ(member(last.body, "rest"), "");
}

}  // namespace
}  // namespace horae::testing
