// Log lines about calls: the audit of admin calls, and failures.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"
#include "base/log_rate_limiter.h"
#include "http/uri.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::string_view kToken = "Authorization: Bearer secret\r\n";
constexpr std::string_view kTask = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";

// The lines of the log with this text in them. Ends the world.
std::vector<std::string> lines_with(ApiWorld& world, std::string_view text) {
  world.stop();
  std::vector<std::string> lines;
  const std::string said = world.said();
  for (const std::string_view line : split(said, '\n')) {
    if (line.find(text) != std::string_view::npos) lines.emplace_back(line);
  }
  return lines;
}

TEST(FailureLog, NamesTheRequestTheRouteTheTaskAndTheReason) {
  ApiWorld world;
  world.gate().fail_with(ErrorCode::kUnavailable);
  const auto failed = world.get(fmt::format("/v1/tasks/{}", kTask));
  ASSERT_EQ(failed.status, 503);
  const auto lines = lines_with(world, "a request failed");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("WARN"), HasSubstr("route=get_task"), HasSubstr("status=503"),
                              HasSubstr("reason=\"the test made the store unavailable\""),
                              HasSubstr(fmt::format("task={}", kTask)),
                              HasSubstr("request=" + failed.headers.at("x-request-id"))));
  EXPECT_THAT(failed.body, HasSubstr("urn:horae:request:" + failed.headers.at("x-request-id")));
}

TEST(FailureLog, LogsAnUnavailableStoreOnceASecondWithACountOfTheRest) {
  ApiWorld world;
  world.gate().fail_with(ErrorCode::kUnavailable);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(world.get("/v1/queues").status, 503);
  EXPECT_EQ(world.get("/tasks").status, 500) << "as that endpoint is specified";
  world.advance(1s);
  EXPECT_EQ(world.get("/v1/queues").status, 503);
  const auto lines = lines_with(world, "a request failed");
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("status=503"), HasSubstr("suppressed=0")));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("status=500"), HasSubstr("route=tms_list_tasks")));
  EXPECT_THAT(lines[2], AllOf(HasSubstr("status=503"), HasSubstr("suppressed=4")));
}

TEST(FailureLog, DoesNotLogErrorsOfClients) {
  ApiWorld world;
  EXPECT_EQ(world.get("/v1/tasks/nonsense").status, 400);
  EXPECT_EQ(world.get(fmt::format("/v1/tasks/{}", kTask)).status, 404);
  EXPECT_THAT(lines_with(world, "a request failed"), SizeIs(0));
}

TEST(Audit, NamesTheTokenTheCallAndTheStatus) {
  ApiWorld world;
  (void)world.submit("mail");
  EXPECT_EQ(world.post("/v1/queues/mail/pause").status, 200);
  world.caller() = Principal{.token_id = "t-9", .name = "nine", .role = Role::kAdmin};
  EXPECT_EQ(world.call("POST", "/v1/queues/mail/resume", {}, kToken).status, 200);
  world.caller()->role = Role::kRead;
  const auto refused = world.call("DELETE", "/v1/tokens/t-1", {}, kToken);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(world.call("GET", "/v1/queues", {}, kToken).status, 200);
  const auto lines = lines_with(world, "audit");
  ASSERT_THAT(lines, SizeIs(3)) << "only calls of admins";
  EXPECT_THAT(lines[0], AllOf(HasSubstr("call=pause_queue"), HasSubstr("path=/v1/queues/mail/pause"),
                              HasSubstr("token=none"), HasSubstr("peer=127.0.0.1:"), HasSubstr("status=200")));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("call=resume_queue"), HasSubstr("token=t-9"), HasSubstr("status=200")));
  EXPECT_THAT(lines[2], AllOf(HasSubstr("call=revoke_token"), HasSubstr("token=t-9"), HasSubstr("status=403"),
                              HasSubstr("request=" + refused.headers.at("x-request-id"))));
}

TEST(Audit, RefusedCallersCannotFillTheLog) {
  ApiWorld world;
  (void)world.submit("mail");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(world.call("POST", "/v1/scheduler/stop", {}, kToken).status, 401);
  EXPECT_EQ(world.post("/v1/queues/mail/pause").status, 200) << "which is logged all the same";
  world.advance(1s);
  EXPECT_EQ(world.call("POST", "/v1/scheduler/stop", {}, kToken).status, 401);
  const auto lines = lines_with(world, "audit");
  ASSERT_THAT(lines, SizeIs(12));
  EXPECT_THAT(lines[10], HasSubstr("call=pause_queue"));
  EXPECT_THAT(lines[11], AllOf(HasSubstr("status=401"), HasSubstr("suppressed=90")));
}

// Whatever the reason: names of queues are as long as a path may be.
TEST(Audit, CallsThatAreRefusedForTheirContentCannotFillTheLogEither) {
  ApiWorld world;
  const std::string path = "/v1/queues/" + std::string(5000, 'q') + "/pause";
  for (int i = 0; i < 100; ++i) EXPECT_EQ(world.post(path).status, 422);
  world.advance(1s);
  EXPECT_EQ(world.post(path).status, 422);
  const auto lines = lines_with(world, "audit");
  ASSERT_THAT(lines, SizeIs(11));
  EXPECT_THAT(lines[10], HasSubstr("suppressed=90"));
  for (const std::string& line : lines) EXPECT_LT(line.size(), 2000U);
}

TEST(RefusalLog, IsASampleWithACountOfTheRest) {
  ApiWorld world;
  const std::string path = "/v1/queues/" + std::string(5000, 'q');
  for (int i = 0; i < 150; ++i) EXPECT_EQ(world.call("GET", path, {}, kToken).status, i < kMissesPerSecond ? 401 : 429);
  world.advance(1s);
  EXPECT_EQ(world.call("GET", path, {}, kToken).status, 401);
  const auto lines = lines_with(world, "a call was refused");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("call=get_queue"), HasSubstr("token=none"), HasSubstr("peer=127.0.0.1:"),
                              HasSubstr("status=401"), HasSubstr("suppressed=0")));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("suppressed=149"), HasSubstr("(5011 bytes)")));
  for (const std::string& line : lines) EXPECT_LT(line.size(), 2000U);
}

TEST(TokenGuesses, AreSlowedAndShownInMetrics) {
  ApiWorld world;
  const auto status = [&] { return world.call("GET", "/v1/queues", {}, kToken).status; };
  for (int i = 0; i < kMissesPerSecond; ++i) EXPECT_EQ(status(), 401);
  const auto slowed = world.call("GET", "/v1/queues", {}, kToken);
  EXPECT_EQ(slowed.status, 429);
  EXPECT_EQ(problem_of(slowed), "over_limit");
  EXPECT_EQ(slowed.headers.at("retry-after"), "1");
  EXPECT_EQ(world.get("/v1/queues").status, 200) << "without a token nothing is guessed";
  const std::string figures = world.get("/metrics").body;
  EXPECT_THAT(figures, HasSubstr("\nhorae_token_misses_total 100\n"));
  EXPECT_THAT(figures, HasSubstr("\nhorae_token_guesses_slowed_total 1\n"));
  world.advance(1s);
  EXPECT_EQ(status(), 401);
}

TEST(RateLimit, AClientOverItsRateLimitGetsRetryAfter) {
  ApiWorld world;
  world.caller() = Principal{.token_id = "t-9", .name = "nine", .role = Role::kRead};
  world.throttle() = 2500ms;
  const auto refused = world.call("GET", "/v1/queues", {}, kToken);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(problem_of(refused), "over_limit");
  EXPECT_EQ(refused.headers.at("retry-after"), "3");
  EXPECT_EQ(world.call("POST", "/v1/scheduler/stop", {}, kToken).status, 429)
      << "what its role does not allow counts as well";
  world.throttle() = std::nullopt;
  EXPECT_EQ(world.call("GET", "/v1/queues", {}, kToken).status, 200);
}

}  // namespace
}  // namespace horae::testing
