// The life of a task, queues and the scheduler over HTTP.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(TaskRoutes, ATaskIsSubmittedLookedUpClaimedAndCompleted) {
  ApiWorld world;
  const auto created =
      world.post("/v1/tasks", R"({"queue":"mail","key":"order-1","priority":7,"spec": { "a" : 1.0 } })");
  ASSERT_EQ(created.status, 201);
  const std::string id = text_of(created.body, "id");
  EXPECT_EQ(created.headers.at("location"), "/v1/tasks/" + id);
  EXPECT_EQ(text_of(created.body, "state"), "ready");

  const auto leased = world.claim();
  ASSERT_EQ(leased.status, 200);
  const auto tasks = items_of(leased.body, "tasks");
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(text_of(tasks[0], "id"), id);
  EXPECT_EQ(member(tasks[0], "spec"), R"({ "a" : 1.0 })");
  EXPECT_EQ(member(tasks[0], "attempt"), "1");

  const auto settled = world.settle("complete", id, 1, R"("result":[1.0 , 2])");
  ASSERT_EQ(settled.status, 200);
  const auto outcomes = items_of(settled.body, "outcomes");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(text_of(outcomes[0], "verdict"), "accepted");
  EXPECT_EQ(text_of(outcomes[0], "state"), "completed");

  const auto task = world.get("/v1/tasks/" + id);
  ASSERT_EQ(task.status, 200);
  EXPECT_EQ(text_of(task.body, "state"), "completed");
  EXPECT_EQ(text_of(task.body, "key"), "order-1");
  EXPECT_EQ(text_of(task.body, "owner"), "worker-1");
  EXPECT_EQ(member(task.body, "priority"), "7");
  EXPECT_EQ(member(task.body, "spec"), R"({ "a" : 1.0 })");
  EXPECT_EQ(member(task.body, "result"), "[1.0 , 2]");
  EXPECT_EQ(member(task.body, "progress"), "1");
  EXPECT_EQ(member(task.body, "checkpoint"), "null");
  const auto history = items_of(task.body, "history");
  ASSERT_THAT(history, SizeIs(1));
  EXPECT_EQ(text_of(history[0], "_typ"), "TaskAssignment");
  EXPECT_EQ(text_of(history[0], "worker"), "worker-1");
  EXPECT_EQ(world.get("/v1/queues/mail/keys/order-1").body, task.body);
}

TEST(TaskRoutes, TheSameRequestAgainIsTheSameTaskAndAnotherIsAConflict) {
  ApiWorld world;
  const std::string_view body = R"({"queue":"mail","key":"a/b %","spec":1})";
  const auto first = world.post("/v1/tasks", body);
  const auto again = world.post("/v1/tasks", body);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(text_of(again.body, "id"), text_of(first.body, "id"));
  EXPECT_EQ(text_of(again.body, "outcome"), "present");
  const auto other = world.post("/v1/tasks", R"({"queue":"mail","key":"a/b %","spec":2})");
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(problem_of(other), "conflict");
  EXPECT_THAT(text_of(other.body, "detail"), HasSubstr(text_of(first.body, "id")));
  EXPECT_EQ(world.get("/v1/queues/mail/keys/a%2Fb%20%25").status, 200);
}

TEST(TaskRoutes, EachItemOfABatchHasItsOwnOutcome) {
  ApiWorld world;
  const auto response = world.post("/v1/tasks/batch", R"({"tasks":[
    {"queue":"a","spec":1},{"queue":"a","spec":2,"priority":300},{"queue":"b","spec":3,"key":"k"},7,{"queue":"b","spec":4,"key":"k"}]})");
  ASSERT_EQ(response.status, 200);
  const auto outcomes = items_of(response.body, "outcomes");
  ASSERT_THAT(outcomes, SizeIs(5));
  EXPECT_EQ(text_of(outcomes[0], "outcome"), "created");
  EXPECT_EQ(member(member(outcomes[1], "problem"), "status"), "422");
  EXPECT_THAT(text_of(member(outcomes[1], "problem"), "detail"), HasSubstr("priority 300"));
  EXPECT_EQ(text_of(outcomes[2], "outcome"), "created");
  EXPECT_EQ(member(member(outcomes[3], "problem"), "status"), "400");
  EXPECT_EQ(member(member(outcomes[4], "problem"), "status"), "409");
}

TEST(TaskRoutes, ListsTasksInPages) {
  ApiWorld world;
  std::set<std::string> all;
  for (int i = 0; i < 5; ++i) all.insert(world.submit("mail"));
  std::set<std::string> seen;
  std::string target = "/v1/tasks?queue=mail&limit=2";
  int pages = 0;
  for (std::string next = "first"; !next.empty() && pages < 10; ++pages) {
    const auto page = world.get(target);
    ASSERT_EQ(page.status, 200) << page.body;
    for (const auto& task : items_of(page.body, "tasks")) {
      seen.insert(text_of(task, "id"));
      EXPECT_EQ(member(task, "history"), "");
    }
    next = member(page.body, "next") == "null" ? "" : text_of(page.body, "next");
    target = "/v1/tasks?queue=mail&limit=2&cursor=" + next;
  }
  EXPECT_EQ(seen, all);
}

TEST(TaskRoutes, ListsAreFilteredByState) {
  ApiWorld world;
  const auto ready = world.submit("mail");
  const auto late = world.submit("mail", R"("run_at":"2099-01-01T00:00:00Z")");
  const auto cancelled = world.submit("mail");
  EXPECT_EQ(world.post("/v1/tasks/" + cancelled + "/cancel").status, 200);
  const auto ids = [&](const std::string& states) {
    std::set<std::string> found;
    for (const auto& task : items_of(world.get("/v1/tasks?state=" + states).body, "tasks"))
      found.insert(text_of(task, "id"));
    return found;
  };
  EXPECT_EQ(ids("ready"), (std::set<std::string>{ready}));
  EXPECT_EQ(ids("scheduled"), (std::set<std::string>{late}));
  EXPECT_EQ(ids("running"), (std::set<std::string>{}));
  EXPECT_EQ(ids("cancelled"), (std::set<std::string>{cancelled}));
  EXPECT_EQ(ids("cancelled,aborted"), (std::set<std::string>{cancelled}));
  EXPECT_EQ(ids("ready,cancelled"), (std::set<std::string>{ready, cancelled}));
  EXPECT_EQ(ids("ready,scheduled,cancelled"), (std::set<std::string>{ready, late, cancelled}));
}

TEST(TaskRoutes, ACancelIsFinalAndKeepsItsReason) {
  ApiWorld world;
  const auto id = world.submit();
  (void)world.claim();
  EXPECT_EQ(text_of(world.post("/v1/tasks/" + id + "/cancel", R"({"reason":"too \"late\""})").body, "verdict"),
            "accepted");
  EXPECT_EQ(text_of(world.post("/v1/tasks/" + id + "/cancel").body, "verdict"), "repeated");
  const auto beat = items_of(world.settle("heartbeat", id, 1).body, "outcomes")[0];
  EXPECT_EQ(text_of(beat, "verdict"), "cancelled");
  EXPECT_EQ(text_of(member(beat, "problem"), "type"), "urn:horae:problem:cancelled");
  const auto task = world.get("/v1/tasks/" + id);
  EXPECT_EQ(text_of(task.body, "cancel_reason"), "too \"late\"");
  EXPECT_EQ(text_of(task.body, "state"), "cancelled");
}

TEST(TaskRoutes, CancelsMany) {
  ApiWorld world;
  const auto id = world.submit();
  const auto response = world.post(
      "/v1/tasks/cancel", fmt::format(R"({{"ids":["{}","0190f7c2-0a1b-7c3d-8e4f-0123456789ab",7],"reason":"r"}})", id));
  ASSERT_EQ(response.status, 200);
  const auto outcomes = items_of(response.body, "outcomes");
  ASSERT_THAT(outcomes, SizeIs(3));
  EXPECT_EQ(text_of(outcomes[0], "verdict"), "accepted");
  EXPECT_EQ(text_of(outcomes[1], "verdict"), "not_found");
  EXPECT_EQ(member(member(outcomes[2], "problem"), "status"), "400");
}

TEST(WorkerRoutes, WorkersGetUniqueIds) {
  ApiWorld world;
  const auto first = world.post("/v1/workers");
  EXPECT_EQ(first.status, 201);
  EXPECT_THAT(text_of(first.body, "id"), HasSubstr("worker-"));
  EXPECT_NE(first.body, world.post("/v1/workers").body);
}

TEST(WorkerRoutes, AStaleAttemptIsRefusedWithTheReasonAndKeptInTheHistory) {
  ApiWorld world;
  const auto id = world.submit();
  (void)world.claim();
  EXPECT_EQ(text_of(items_of(world.settle("yield", id, 1, R"("progress":0.5)").body, "outcomes")[0], "verdict"),
            "accepted");
  (void)world.claim();
  const auto refused = items_of(world.settle("complete", id, 1, R"("result":"late")").body, "outcomes")[0];
  EXPECT_EQ(text_of(refused, "verdict"), "stale_attempt");
  EXPECT_EQ(member(refused, "attempt"), "2");
  EXPECT_EQ(member(member(refused, "problem"), "status"), "409");
  EXPECT_THAT(text_of(member(refused, "problem"), "detail"), HasSubstr("kept in the history"));
  EXPECT_THAT(world.get("/v1/tasks/" + id).body, HasSubstr(R"("_typ":"TaskLateResult")"));
}

TEST(WorkerRoutes, EveryEventHasItsEffect) {
  ApiWorld world;
  const auto id = world.submit();
  (void)world.claim();
  const auto verdict = [&](const TestResponse& response) {
    return text_of(items_of(response.body, "outcomes")[0], "verdict");
  };
  EXPECT_EQ(verdict(world.settle("heartbeat", id, 1, R"("progress":0.25,"checkpoint":{"at": 1},"lease":"1m")")),
            "accepted");
  EXPECT_EQ(member(world.get("/v1/tasks/" + id).body, "progress"), "0.25");
  EXPECT_EQ(verdict(world.settle("release", id, 1)), "accepted");
  const auto again = items_of(world.claim().body, "tasks")[0];
  EXPECT_EQ(member(again, "checkpoint"), R"({"at": 1})");
  const int attempt = std::stoi(member(again, "attempt"));
  EXPECT_EQ(verdict(world.settle("abort", id, attempt, R"("errors":[{"code":"bad","args":{"x":1.0}}])")), "accepted");
  EXPECT_EQ(verdict(world.settle("abort", id, attempt, R"("errors":[{"code":"bad","args":{"x":1.0}}])")), "repeated");
  EXPECT_EQ(member(world.get("/v1/tasks/" + id).body, "errors"),
            R"([{"code":"bad","args":{"x":1.0},"description":""}])");
}

TEST(WorkerRoutes, AWaitingClaimGetsATaskAsSoonAsThereIsOne) {
  ApiWorld world;
  TestClient worker = world.connect();
  ASSERT_TRUE(worker.send(request_text("POST", "/v1/claim", R"({"owner":"worker-1","queues":["mail"],"wait":"30s"})")));
  world.wait_for_waiting(1);
  const auto id = world.submit();
  const auto response = worker.receive();
  ASSERT_TRUE(response.has_value());
  ASSERT_THAT(items_of(response->body, "tasks"), SizeIs(1));
  EXPECT_EQ(text_of(items_of(response->body, "tasks")[0], "id"), id);
}

TEST(WorkerRoutes, AWaitingClaimEndsEmptyAfterItsWait) {
  ApiWorld world;
  TestClient worker = world.connect();
  ASSERT_TRUE(worker.send(request_text("POST", "/v1/claim", R"({"owner":"worker-1","queues":["mail"],"wait":"30s"})")));
  world.wait_for_waiting(1);
  world.advance(30s);
  EXPECT_EQ(worker.receive()->body, R"({"tasks":[]})");
}

TEST(WorkerRoutes, AWorkerThatDisconnectsIsForgottenAndAnotherGetsTheTask) {
  ApiWorld world;
  {
    TestClient worker = world.connect();
    ASSERT_TRUE(
        worker.send(request_text("POST", "/v1/claim", R"({"owner":"worker-1","queues":["mail"],"wait":"30s"})")));
    world.wait_for_waiting(1);
  }
  world.wait_for_waiting(0);
  const auto id = world.submit();
  const auto tasks = items_of(world.claim().body, "tasks");
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(member(tasks[0], "attempt"), "1");
}

TEST(WorkerRoutes, TasksClaimedForADisconnectedWorkerAreReleased) {
  ApiWorld world;
  const auto id = world.submit();
  world.gate().hold();
  TestClient worker = world.connect();
  ASSERT_TRUE(worker.send(request_text("POST", "/v1/claim", R"({"owner":"worker-9","queues":["mail"],"wait":"30s"})")));
  world.gate().wait_for_held(1);  // its claim is under way
  worker.close();
  world.wait_for_connections(1);
  world.gate().open();
  TestClient other = world.connect();
  ASSERT_TRUE(other.send(request_text("POST", "/v1/claim", R"({"owner":"worker-1","queues":["mail"],"wait":"30s"})")));
  const auto tasks = items_of(other.receive()->body, "tasks");
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(text_of(tasks[0], "id"), id);
  const auto task = world.get("/v1/tasks/" + id);
  EXPECT_EQ(text_of(task.body, "owner"), "worker-1");
  EXPECT_THAT(items_of(task.body, "history"), SizeIs(1));  // the first assignment never was
}

TEST(WorkerRoutes, AClaimRepeatedWithItsTokenReturnsItsLeases) {
  ApiWorld world;
  (void)world.submit();
  const std::string_view body =
      R"({"owner":"worker-1","queues":["mail"],"token":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab"})";
  const auto first = world.post("/v1/claim", body);
  ASSERT_THAT(items_of(first.body, "tasks"), SizeIs(1));
  EXPECT_EQ(world.post("/v1/claim", body).body, first.body);
}

TEST(WorkerRoutes, EndWaitsAnswersAllLongPolls) {
  ApiWorld world;
  TestClient worker = world.connect();
  ASSERT_TRUE(worker.send(request_text("POST", "/v1/claim", R"({"owner":"worker-1","queues":["mail"],"wait":"30s"})")));
  world.wait_for_waiting(1);
  world.api().end_waits();
  EXPECT_EQ(worker.receive()->body, R"({"tasks":[]})");
  EXPECT_EQ(world.post("/v1/claim", R"({"owner":"worker-1","queues":["mail"],"wait":"30s"})").body, R"({"tasks":[]})");
}

TEST(QueueRoutes, QueuesAreListedPausedResumedAndChanged) {
  ApiWorld world;
  (void)world.submit("mail");
  const auto list = world.get("/v1/queues");
  ASSERT_EQ(list.status, 200);
  const auto queues = items_of(list.body, "queues");
  ASSERT_THAT(queues, SizeIs(1));
  EXPECT_EQ(text_of(queues[0], "name"), "mail");
  EXPECT_EQ(member(queues[0], "ready"), "1");
  EXPECT_EQ(text_of(queues[0], "retention"), "168h");

  EXPECT_EQ(member(world.post("/v1/queues/mail/pause").body, "paused"), "true");
  EXPECT_THAT(items_of(world.claim().body, "tasks"), SizeIs(0));
  EXPECT_EQ(member(world.post("/v1/queues/mail/resume").body, "paused"), "false");
  EXPECT_THAT(items_of(world.claim().body, "tasks"), SizeIs(1));

  const auto changed = world.call("PATCH", "/v1/queues/mail", R"({"ageing_rate":5,"retention":"24h"})");
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(member(changed.body, "ageing_rate"), "5");
  const auto queue = world.get("/v1/queues/mail");
  EXPECT_EQ(text_of(queue.body, "retention"), "24h");
  EXPECT_EQ(member(queue.body, "running"), "1");
}

TEST(QueueRoutes, PausingAMissingQueueFailsAndCreatesNone) {
  ApiWorld world;
  (void)world.submit("mail");
  for (const char* verb : {"pause", "resume"}) {
    const auto refused = world.post(std::string("/v1/queues/mial/") + verb);
    EXPECT_EQ(refused.status, 404) << verb;
    EXPECT_THAT(text_of(refused.body, "detail"),
                AllOf(HasSubstr("queue mial: there is none"), HasSubstr("horae queue pause mial --create")))
        << verb;
  }
  EXPECT_THAT(items_of(world.get("/v1/queues").body, "queues"), SizeIs(1));
  EXPECT_EQ(world.changed().control, 0);
}

TEST(QueueRoutes, SettingsMayBeGivenBeforeTheFirstTask) {
  ApiWorld world;
  const auto made = world.call("PATCH", "/v1/queues/mail", R"({"paused":true,"retention":"24h"})");
  EXPECT_EQ(made.status, 200);
  (void)world.submit("mail");
  EXPECT_THAT(items_of(world.claim().body, "tasks"), SizeIs(0));
  EXPECT_EQ(world.post("/v1/queues/mail/resume").status, 200);
  EXPECT_THAT(items_of(world.claim().body, "tasks"), SizeIs(1));
}

TEST(QueueRoutes, TheStatusShowsTheSlotsAndTheBacklog) {
  ApiWorld world;
  const MonotonicTime now = world.clock().now();
  world.status().slots = {{.run = SlotEntry::Run{.task = {}, .queue = "mail", .attempt = 2, .since = now}},
                          {.is_internal = true}};
  world.status().backlog = {
      {.position = {.level = 205, .place = 1, .ahead = 1}, .task = {}, .queue = "web", .attempt = 1, .since = now}};
  const std::string nil = "00000000-0000-0000-0000-000000000000";
  EXPECT_EQ(world.get("/v1/scheduler").body,
            R"({"running":true,"slots":[{"internal":false,"state":"busy","task":")" + nil +
                R"(","queue":"mail","attempt":2,"since":"2026-11-16T00:00:00Z"},{"internal":true,"state":"idle"}],)" +
                R"("backlog":[{"level":205,"place":1,"task":")" + nil +
                R"(","queue":"web","attempt":1,"since":"2026-11-16T00:00:00Z"}],"waiting_workers":0})");
}

TEST(QueueRoutes, TheStatusDoesNotCountTheNodeAsAWorkerThatWaits) {
  ApiWorld world;
  TestClient worker = world.connect();
  const std::string body = R"({"owner":"worker-7","queues":["mail"],"wait":"30s"})";
  ASSERT_TRUE(worker.send("POST /v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body));
  world.wait_for_waiting(1);
  EXPECT_EQ(member(world.get("/v1/scheduler").body, "waiting_workers"), "1");
  world.status().is_waiting = true;  // it is the wish of the node's own slots
  EXPECT_EQ(member(world.get("/v1/scheduler").body, "waiting_workers"), "0");
}

TEST(QueueRoutes, ChangesReachTheObserver) {
  ApiWorld world;
  const std::string id = world.submit("mail", R"("run_at":"2100-01-01T00:00:00Z")");
  EXPECT_EQ(world.changed().scheduled, 1);
  (void)world.post("/v1/tasks/" + id + "/cancel");
  EXPECT_EQ(world.changed().cancelled, 1);
  (void)world.post("/v1/queues/mail/pause");
  EXPECT_EQ(world.changed().control, 1);
}

TEST(QueueRoutes, TheSchedulerStopsAndStartsClaims) {
  ApiWorld world;
  (void)world.submit();
  EXPECT_EQ(world.post("/v1/scheduler/stop").body, R"({"running":false,"changed":true})");
  EXPECT_EQ(world.post("/v1/scheduler/stop").body, R"({"running":false,"changed":false})");
  EXPECT_THAT(items_of(world.claim().body, "tasks"), SizeIs(0));
  EXPECT_EQ(world.changed().control, 1);  // said once, changed once
  TestClient worker = world.connect();
  ASSERT_TRUE(worker.send(request_text("POST", "/v1/claim", R"({"owner":"worker-1","queues":["mail"],"wait":"30s"})")));
  world.wait_for_waiting(1);
  EXPECT_EQ(world.post("/v1/scheduler/start").body, R"({"running":true,"changed":true})");
  EXPECT_THAT(items_of(worker.receive()->body, "tasks"), SizeIs(1));
}

TEST(Routes, UnknownPathsAndMethodsAreRefusedWithAHint) {
  ApiWorld world;
  const auto nowhere = world.get("/v1/nothing");
  EXPECT_EQ(nowhere.status, 404);
  EXPECT_EQ(problem_of(nowhere), "no_such_path");
  EXPECT_EQ(world.get("/v1/tasks/").status, 404);
  const auto method = world.call("DELETE", "/v1/tasks");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.headers.at("allow"), "POST, GET, HEAD");
}

TEST(Routes, BodiesMustBeJson) {
  ApiWorld world;
  EXPECT_EQ(world.call("POST", "/v1/tasks", R"({"queue":"q","spec":1})", "Content-Type: text/plain\r\n").status, 415);
  EXPECT_EQ(
      world
          .call("POST", "/v1/tasks", R"({"queue":"q","spec":1})", "Content-Type: application/x-www-form-urlencoded\r\n")
          .status,
      415);
  EXPECT_EQ(
      world.call("POST", "/v1/tasks", R"({"queue":"q","spec":1})", "Content-Type: Application/JSON; charset=utf-8\r\n")
          .status,
      201);
  EXPECT_EQ(world.post("/v1/tasks").status, 400);
  EXPECT_EQ(world.post("/v1/tasks", "{\"queue\":\"q\",\"spec\":\"\xFF\"}").status, 400);
  EXPECT_EQ(
      world.post("/v1/tasks", R"({"queue":"q","spec":)" + std::string(100, '[') + std::string(100, ']') + "}").status,
      400);
  EXPECT_EQ(world.post("/v1/tasks", std::string("{\"queue\":\"q\",\"spec\":\"\0\"}", 24)).status, 400);
}

TEST(Routes, QueriesAreChecked) {
  ApiWorld world;
  for (const char* query : {"limit=x", "limit=1&limit=2", "colour=red", "state=done", "state=ready,", "queue=%zz",
                            "created_from=soon", "cursor=nonsense", "queue=%FF"}) {
    const auto response = world.get(std::string("/v1/tasks?") + query);
    EXPECT_EQ(response.status, 400) << query;
    EXPECT_EQ(problem_of(response), "malformed") << query;
  }
  EXPECT_EQ(world.get("/v1/tasks?limit=0").status, 422);
  EXPECT_EQ(world.get("/v1/tasks?limit=1001").status, 422);
  EXPECT_EQ(world.get("/v1/tasks?owner=worker-1").status, 422);
}

TEST(Routes, PagesOfOtherSitesMayNotChangeAnything) {
  ApiWorld world;
  EXPECT_EQ(world.call("POST", "/v1/scheduler/stop", {}, "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(world.call("POST", "/v1/scheduler/stop", {}, "Origin: null\r\n").status, 403);
  EXPECT_EQ(world.call("POST", "/v1/scheduler/stop", {}, "Sec-Fetch-Site: cross-site\r\n").status, 403);
  EXPECT_EQ(world.call("POST", "/v1/scheduler/stop", {}, "Origin: http://localhost\r\n").status, 200);
}

}  // namespace
}  // namespace horae::testing
