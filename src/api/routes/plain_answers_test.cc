// Refusals that name what was sent, and say what to do.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kSentId = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";

std::string detail_of(const TestResponse& response) { return text_of(response.body, "detail"); }

TEST(ReservedQueues, AreNeitherSubmittedToNorClaimedFrom) {
  ApiWorld world;
  const auto submitted = world.post("/v1/tasks", R"({"queue":"horae.internal","spec":{}})");
  EXPECT_EQ(submitted.status, 422);
  EXPECT_THAT(detail_of(submitted), HasSubstr("names that begin with horae. belong to Horae"));
  const auto batch = world.post("/v1/tasks/batch", R"({"tasks":[{"queue":"horae.x","spec":{}}]})");
  EXPECT_THAT(items_of(batch.body, "outcomes")[0], HasSubstr("choose another name"));
  const auto claimed = world.post("/v1/claim", R"({"owner":"worker-1","queues":["mail","horae.internal"]})");
  EXPECT_EQ(claimed.status, 422);
  EXPECT_EQ(world.post("/v1/tasks", R"({"queue":"horae","spec":{}})").status, 201);
}

TEST(Settle, RefusesAProgressOutsideOfZeroToOne) {
  ApiWorld world;
  const std::string id = world.submit();
  (void)world.claim();
  for (const char* progress : {"1.5", "-0.1", "1e300"}) {
    const auto response = world.settle("heartbeat", id, 1, fmt::format(R"("progress":{})", progress));
    const std::string outcome = items_of(response.body, "outcomes")[0];
    EXPECT_THAT(outcome, AllOf(HasSubstr("give 0 to 1"), HasSubstr(id)));
  }
  EXPECT_EQ(member(world.get("/v1/tasks/" + id).body, "progress"), "0");
}

TEST(Batches, NameTheItemThatTheyRefuse) {
  ApiWorld world;
  const std::string settled =
      fmt::format(R"({{"settlements":[{{"event":"explode","id":"{}","attempt":1}}]}})", kSentId);
  EXPECT_EQ(text_of(items_of(world.post("/v1/settle", settled).body, "outcomes")[0], "id"), kSentId);
  const std::string submitted =
      fmt::format(R"({{"tasks":[{{"id":"{}","queue":"mail","spec":1,"priority":999}}]}})", kSentId);
  EXPECT_EQ(text_of(items_of(world.post("/v1/tasks/batch", submitted).body, "outcomes")[0], "id"), kSentId);
  const auto nameless = world.post("/v1/settle", R"({"settlements":[{"event":"explode","id":"x"},7]})");
  for (const std::string& outcome : items_of(nameless.body, "outcomes")) EXPECT_EQ(member(outcome, "id"), "null");
}

TEST(Batches, ListTheirFieldsOnce) {
  ApiWorld world;
  EXPECT_THAT(detail_of(world.post("/v1/settle", R"({"x":1})")), Not(HasSubstr("settlements, settlements")));
}

TEST(Messages, QuoteATextOnceAndOtherValuesNotAtAll) {
  ApiWorld world;
  EXPECT_EQ(detail_of(world.post("/v1/tasks", R"({"queue":"mail","spec":1,"priority":"high"})")),
            R"(priority "high": give a whole number)");
  EXPECT_EQ(detail_of(world.post("/v1/tasks", R"({"queue":{"a":"b"},"spec":1})")), R"(queue {"a":"b"}: give a string)");
}

}  // namespace
}  // namespace horae::testing
