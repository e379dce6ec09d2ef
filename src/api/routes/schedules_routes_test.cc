// Schedules over HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kNightly =
    R"({"cron":"30 2 * * *","zone":"Europe/Berlin","task":{"queue":"mail","spec":{"a":1.0}},"overlap":"allow"})";
constexpr std::string_view kOften = R"({"every":"90s","task":{"queue":"mail","spec":1,"priority":9}})";

TestResponse put(ApiWorld& world, std::string_view body, std::string_view headers = {}) {
  return world.call("PUT", "/v1/schedules/nightly", body, headers);
}

TEST(ScheduleRoutes, AScheduleIsMadeShownAndDeleted) {
  ApiWorld world;
  const auto made = put(world, kNightly);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.headers.at("location"), "/v1/schedules/nightly");
  EXPECT_EQ(made.headers.at("etag"), "\"" + text_of(made.body, "version") + "\"");
  const auto shown = world.get("/v1/schedules/nightly");
  ASSERT_EQ(shown.status, 200);
  EXPECT_EQ(shown.body, made.body);
  EXPECT_EQ(text_of(shown.body, "words"), "at 02:30, Europe/Berlin");
  EXPECT_EQ(text_of(shown.body, "overlap"), "allow");
  EXPECT_EQ(text_of(shown.body, "missed"), "last");
  EXPECT_EQ(member(shown.body, "every"), "null");
  EXPECT_THAT(member(shown.body, "task"), HasSubstr(R"("spec":{"a":1.0})")) << "the exact bytes";
  EXPECT_THAT(text_of(shown.body, "next_at"), AllOf(HasSubstr(":30:00Z"), testing::SizeIs(20)));
  EXPECT_EQ(world.call("DELETE", "/v1/schedules/nightly").status, 204);
  EXPECT_EQ(world.get("/v1/schedules/nightly").status, 404);
}

TEST(ScheduleRoutes, PutRepeatsHarmlessly) {
  ApiWorld world;
  const auto made = put(world, kOften);
  const auto again = put(world, kOften);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, made.body);
}

TEST(ScheduleRoutes, IfMatchReplacesOnlyThatVersion) {
  ApiWorld world;
  const std::string first = put(world, kOften).headers.at("etag");
  const auto changed = put(world, kNightly, "If-Match: " + first + "\r\n");
  ASSERT_EQ(changed.status, 200) << changed.body;
  EXPECT_NE(changed.headers.at("etag"), first);
  EXPECT_EQ(put(world, kOften, "If-Match: " + first + "\r\n").status, 409);
  EXPECT_EQ(put(world, kOften, "If-Match: nonsense\r\n").status, 400);
}

TEST(ScheduleRoutes, AFaultNamesTheField) {
  ApiWorld world;
  const auto fault = [&](const std::string& rules, int status) {
    const auto answer = put(world, "{" + rules + R"(,"task":{"queue":"mail","spec":1}})");
    EXPECT_EQ(answer.status, status) << answer.body;
    return text_of(answer.body, "detail");
  };
  EXPECT_THAT(fault(R"("cron":"@daily","zone":"Europe/Belin")", 422), HasSubstr("is Europe/Berlin meant?"));
  EXPECT_THAT(fault(R"("cron":"0 25 * * *")", 400), HasSubstr("hour (character 3)"));
  EXPECT_THAT(fault(R"("every":"999ms")", 422), HasSubstr("every 999ms"));
  EXPECT_THAT(fault(R"("every":"1m","jitter":"61s")", 422), HasSubstr("jitter"));
  EXPECT_THAT(fault(R"("every":"1m","catch_up":1001)", 422), HasSubstr("catch_up 1001"));
  EXPECT_THAT(fault(R"("every":"1m","missed":"never")", 400), HasSubstr("give last or all or skip"));
  EXPECT_THAT(fault(R"("every":"1m","gap":"first")", 400), HasSubstr("give next or skip"));
  EXPECT_THAT(fault(R"("every":"1m","colour":"red")", 400), HasSubstr("colour"));
  EXPECT_THAT(text_of(put(world, R"({"every":"1m"})").body, "detail"), HasSubstr("task"));
  EXPECT_THAT(text_of(put(world, R"({"every":"1m","task":{"queue":"horae.x","spec":1}})").body, "detail"),
              HasSubstr("belong to Horae"));
  EXPECT_EQ(world.get("/v1/schedules/nightly").status, 404);
}

TEST(ScheduleRoutes, AreListedInPages) {
  ApiWorld world;
  for (const char* name : {"b", "a", "c"}) (void)world.call("PUT", "/v1/schedules/" + std::string(name), kOften);
  const auto first = world.get("/v1/schedules?limit=2");
  ASSERT_EQ(first.status, 200);
  ASSERT_THAT(items_of(first.body, "schedules"), SizeIs(2));
  EXPECT_EQ(text_of(items_of(first.body, "schedules")[0], "name"), "a");
  EXPECT_EQ(text_of(first.body, "next"), "b");
  const auto second = world.get("/v1/schedules?limit=2&after=b");
  EXPECT_THAT(items_of(second.body, "schedules"), SizeIs(1));
  EXPECT_EQ(member(second.body, "next"), "null");
}

TEST(ScheduleRoutes, APausedOneHasNoNextFire) {
  ApiWorld world;
  (void)put(world, kOften);
  const auto paused = world.post("/v1/schedules/nightly/pause");
  ASSERT_EQ(paused.status, 200);
  EXPECT_EQ(member(paused.body, "paused"), "true");
  EXPECT_EQ(member(paused.body, "next_at"), "null");
  const auto resumed = world.post("/v1/schedules/nightly/resume");
  EXPECT_EQ(member(resumed.body, "paused"), "false");
  EXPECT_NE(member(resumed.body, "next_at"), "null");
}

TEST(ScheduleRoutes, ATriggerSubmitsATaskNow) {
  ApiWorld world;
  (void)put(world, kOften);
  const auto task = world.post("/v1/schedules/nightly/trigger");
  ASSERT_EQ(task.status, 201);
  const auto shown = world.get("/v1/tasks/" + text_of(task.body, "id"));
  EXPECT_EQ(member(shown.body, "priority"), "9");
  EXPECT_EQ(text_of(shown.body, "state"), "ready");
  EXPECT_THAT(items_of(world.get("/v1/schedules/nightly/fires").body, "fires"), IsEmpty());
}

TEST(ScheduleRoutes, APreviewNeedsNoStoredSchedule) {
  ApiWorld world;
  const auto shown = world.post("/v1/schedules/nightly/preview?count=3", kOften);
  ASSERT_EQ(shown.status, 200) << shown.body;
  EXPECT_EQ(text_of(shown.body, "words"), "every 1m30s from 1970-01-01T00:00:00Z");
  EXPECT_THAT(items_of(shown.body, "fires"), SizeIs(3));
  EXPECT_EQ(world.get("/v1/schedules/nightly").status, 404);
  (void)put(world, kOften);
  EXPECT_THAT(items_of(world.get("/v1/schedules/nightly/preview").body, "fires"), SizeIs(10));
  EXPECT_EQ(world.get("/v1/schedules/nightly/preview?count=1001").status, 400);
}

TEST(ScheduleRoutes, FiresAreShownWithWhatBecameOfThem) {
  ApiWorld world;
  (void)put(world, kOften);
  const Schedule schedule = world.store().schedules().get("nightly").value().value();
  world.advance(std::chrono::minutes(10));
  const Instant until = schedule.handled_until + std::chrono::minutes(10);
  const Timetable table = Timetable::make(schedule.definition.rules, system_zones()).value();
  const FirePlan plan = plan_fires("nightly", schedule.definition.rules, table,
                                   schedule.handled_until + std::chrono::microseconds(1), until);
  ASSERT_THAT(plan.fires, SizeIs(1));
  Submission submission{.task = schedule.definition.task, .new_id = {}};
  const ScheduleStep step{.name = "nightly",
                          .version = schedule.version,
                          .seen = schedule.handled_until,
                          .until = until,
                          .fires = {{plan.fires[0].at, submission}},
                          .skipped = plan.skipped,
                          .next_at = plan.next_at};
  ASSERT_TRUE(world.store().schedules().step(std::span(&step, 1)).ok());
  const auto fires = items_of(world.get("/v1/schedules/nightly/fires").body, "fires");
  ASSERT_THAT(fires, SizeIs(2));
  EXPECT_EQ(member(fires[0], "skipped"), "null");
  EXPECT_EQ(text_of(fires[1], "skipped"), "missed");
  EXPECT_EQ(member(fires[1], "task"), "null");
  EXPECT_THAT(items_of(world.get("/v1/schedules/nightly/fires?before=" + text_of(fires[0], "at")).body, "fires"),
              SizeIs(1));
  EXPECT_EQ(world.get("/v1/schedules/nightly/fires?before=nonsense").status, 400);
}

// What lies outside of a token's queues does not exist for it.
TEST(ScheduleRoutes, ATokenSeesOnlySchedulesOfItsQueues) {
  ApiWorld world;
  (void)put(world, kOften);
  world.caller() = Principal{.token_id = "t-1",
                             .name = "one",
                             .role = Role::kSubmit,
                             .scope = std::make_shared<const QueueScope>(QueueScope::of({"other"}).value())};
  constexpr std::string_view kToken = "Authorization: Bearer known\r\n";
  EXPECT_EQ(world.call("GET", "/v1/schedules/nightly", "", kToken).status, 404);
  EXPECT_EQ(world.call("DELETE", "/v1/schedules/nightly", "", kToken).status, 404);
  EXPECT_EQ(world.call("POST", "/v1/schedules/nightly/trigger", "", kToken).status, 404);
  EXPECT_EQ(put(world, kOften, kToken).status, 403);
  EXPECT_EQ(put(world, R"({"every":"1m","task":{"queue":"other","spec":1}})", kToken).status, 403)
      << "it is the schedule of another queue";
  EXPECT_THAT(items_of(world.call("GET", "/v1/schedules", "", kToken).body, "schedules"), IsEmpty());
  EXPECT_EQ(world.get("/v1/schedules/nightly").status, 200);
}

}  // namespace
}  // namespace horae::testing
