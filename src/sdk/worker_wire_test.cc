#include "sdk/worker_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

using ::testing::HasSubstr;

TaskId some_id() { return parse_uuid("0190f7c2-0a1b-7c3d-8e4f-0123456789ab").value(); }

TEST(WorkerWire, WritesAClaim) {
  EXPECT_EQ(
      claim_json({.owner = "worker-7", .queues = {"a", "b\""}, .max = 3, .token = some_id()}, std::chrono::seconds(5)),
      R"({"owner":"worker-7","claim":{"queues":["a","b\""],"max":3,"lease":"10s",)"
      R"("token":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab"},"wait":"5s"})");
}

TEST(WorkerWire, ReadsTasksWithTheirExactBytes) {
  const auto answer = read_claim_answer(
      R"({"tasks":[{"id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","number":9,"queue":"mail","priority":1,"new":[],)"
      R"("spec":{"n": 1.0},"attempt":4,"checkpoint":null,"lease_expires":"2026-01-01T00:00:00Z"}],)"
      R"("rest":[{"id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":5}],"attention":true})");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  ASSERT_EQ(answer->tasks.size(), 1U);
  EXPECT_EQ(answer->tasks[0].id, some_id());
  EXPECT_EQ(answer->tasks[0].number, 9);
  EXPECT_EQ(answer->tasks[0].spec, R"({"n": 1.0})");
  EXPECT_EQ(answer->tasks[0].attempt, 4);
  EXPECT_EQ(answer->tasks[0].checkpoint, std::nullopt);
  EXPECT_EQ(answer->rest.at(0).attempt, 5);
  EXPECT_TRUE(answer->attention);
}

TEST(WorkerWire, TakesNoAnswerThatIsCutOff) {
  const std::string whole = R"({"tasks":[{"id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","spec":{},"attempt":4}]})";
  EXPECT_TRUE(read_claim_answer(whole).ok());
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(read_claim_answer(whole.substr(0, size)).ok());
  EXPECT_FALSE(read_settle_answer(R"({"outcomes":[]})", 1).ok());
  EXPECT_EQ(read_settle_answer(R"({"outcomes":[]})", 1).error().code, ErrorCode::kUnavailable);
}

TEST(WorkerWire, WritesSettlements) {
  EXPECT_EQ(
      settlement_json({.event = Event::kComplete,
                       .id = some_id(),
                       .number = 9,
                       .attempt = 4,
                       .owner = "worker-7",
                       .result = "{\"n\": 1.0}"}),
      R"({"event":"complete","owner":"worker-7","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","number":9,"attempt":4,)"
      R"("result":{"n": 1.0}})");
  EXPECT_THAT(settlement_json({.event = Event::kAbort,
                               .id = some_id(),
                               .attempt = 4,
                               .owner = "worker-7",
                               .errors = {{.code = "exit_code", .args = "{}", .description = "exited\n"}}}),
              HasSubstr(R"("errors":[{"code":"exit_code","args":{},"description":"exited\n"}]})"));
  EXPECT_THAT(settlement_json({.event = Event::kHeartbeat,
                               .id = some_id(),
                               .attempt = 4,
                               .owner = "worker-7",
                               .lease = std::chrono::milliseconds(100),
                               .progress = 0.5}),
              HasSubstr(R"("lease":"100ms","progress":0.5})"));
  const std::string two[] = {"{}", "{}"};
  EXPECT_EQ(settle_json(two), R"({"settlements":[{},{}]})");
}

TEST(WorkerWire, ReadsVerdictsAndProblems) {
  const auto answer = read_settle_answer(
      R"({"outcomes":[{"id":"x","verdict":"accepted"},{"id":"x","verdict":"cancelled","problem":{"detail":"why"}},)"
      R"({"id":null,"problem":{"detail":"bad"}}]})",
      3);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ((*answer)[0].verdict, "accepted");
  EXPECT_EQ((*answer)[1].problem, "why");
  EXPECT_EQ((*answer)[2].verdict, "");
  EXPECT_EQ((*answer)[2].problem, "bad");
  EXPECT_EQ(detail_of_problem("<html>"), "<html>");
}

}  // namespace
}  // namespace horae
