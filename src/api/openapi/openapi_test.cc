// Compares the document with the running server: each route, each status.
#include "api/openapi/openapi.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "api/openapi/docs_page.h"
#include "api/test_world.h"
#include "base/json_scan.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kNoTask = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";

using Seen = std::map<std::string, std::set<int>>;

// Merges the statuses of several worlds, because some need a world of their own.
void merge(Seen& into, const Seen& more) {
  for (const auto& [route, statuses] : more) into[route].insert(statuses.begin(), statuses.end());
}

std::string fill(std::string_view pattern) {
  std::string target(pattern);
  const auto put = [&](std::string_view name, std::string_view value) {
    if (const auto at = target.find(name); at != std::string::npos) target.replace(at, name.size(), value);
  };
  put("/v1/delay/{queue}", "/v1/delay/orders");
  put("{id}", kNoTask);
  put("{queue}", "mail");
  put("{key}", "k");
  put("{token}", "t-000000000000");
  put("{schedule}", "nightly");
  return target;
}

std::string with_bad_escape(std::string_view pattern) {
  const std::size_t from = pattern.find('{');
  return fill(fmt::format("{}%zz{}", pattern.substr(0, from), pattern.substr(pattern.find('}') + 1)));
}

// A body that the route accepts.
std::string good_body(const Route& route) {
  const std::map<std::string_view, std::string> bodies = {
      {"NewTask", R"({"queue":"mail","spec":1,"key":"k"})"},
      {"NewTasks", R"({"tasks":[{"queue":"mail","spec":1}]})"},
      {"Cancel", "{}"},
      {"CancelMany", fmt::format(R"({{"ids":["{}"]}})", kNoTask)},
      {"Claim", R"({"owner":"worker-1","queues":["mail"]})"},
      {"Exchange",
       R"({"owner":"worker-1","claim":{"queues":["mail"],"token":"0190f7c2-0a1b-7c3d-8e4f-0123456789ac"}})"},
      {"Settlements",
       fmt::format(R"({{"settlements":[{{"event":"release","id":"{}","attempt":1,"owner":"w"}}]}})", kNoTask)},
      {"NewMessage", R"({"id":"m","delay":"1h"})"},
      {"NewMessages", R"({"messages":[{"id":"m","delay":"1h"}]})"},
      {"MessageChange", R"({"delay":"2h"})"},
      {"QueueChange", R"({"paused":false})"},
      {"TokenWish", R"({"name":"build","role":"submit","queues":["mail.*"]})"},
      {"NewSchedule", R"({"every":"90s","task":{"queue":"mail","spec":1}})"},
      {"ScheduleTaskRequest", R"({"command":"5s"})"},
  };
  return route.body.empty() ? "" : bodies.at(route.body);
}

// A well-formed body with a value that is not allowed.
std::string refused_body(const Route& route) {
  const std::string reason(2000, 'x');
  const std::map<std::string_view, std::string> bodies = {
      {"NewTask", R"({"queue":"a b","spec":1})"},
      {"NewTasks", R"({"tasks":[]})"},
      {"Cancel", R"({"reason":")" + reason + "\"}"},
      {"CancelMany", R"({"ids":[]})"},
      {"Claim", R"({"owner":"worker-1","queues":[]})"},
      {"Exchange", R"({"owner":"worker-1"})"},
      {"Settlements", R"({"settlements":[]})"},
      {"NewMessage", R"({"id":"m"})"},
      {"NewMessages", R"({"messages":[{"id":"m"}]})"},
      {"MessageChange", "{}"},
      {"QueueChange", R"({"ageing_rate":-1})"},
      {"ScheduleTaskRequest", R"({"command":"5s","recurring":"0s"})"},
      {"TokenWish", R"({"name":"build","role":"submit","queues":[]})"},
      {"NewSchedule", R"({"every":"9ms","task":{"queue":"mail","spec":1}})"},
  };
  return route.body.empty() ? "" : bodies.at(route.body);
}

// A stream has no end, so the test requests its head only.
std::string_view method_of(const Route& route) { return route.name == "stream_events" ? "HEAD" : route.method; }

void call_all(ApiWorld& world, const std::function<std::string(const Route&)>& body) {
  for (const Route& route : routes()) (void)world.call(method_of(route), fill(route.pattern), body(route));
}

// Callers that the gate refuses: an unknown token, a foreign host name, a token over its rate limit.
Seen walk_gate() {
  ApiWorld world;
  const auto call_each = [&](std::string_view headers) {
    for (const Route& route : routes()) {
      if (route.access == Access::kOpen) continue;
      (void)world.call(method_of(route), fill(route.pattern), good_body(route), headers);
    }
  };
  call_each("Authorization: Bearer unknown\r\n");
  call_each("Host: evil.example\r\n");
  world.caller() = Principal{.token_id = "t-1", .name = "one"};
  world.throttle() = std::chrono::seconds(1);
  call_each("Authorization: Bearer known\r\n");
  return world.seen();
}

Seen walk_full_streams() {
  HttpLimits limits;
  limits.streams = 0;
  ApiWorld world({}, {}, limits);
  (void)world.get("/v1/events");
  return world.seen();
}

// Messages that wait, and one that is ready; delay queues that are not configured.
void call_delay_queues(ApiWorld& world) {
  const std::string messages = "/v1/delay/orders/messages";
  (void)world.post(messages, R"({"id":"ready","delay":"0s"})");
  (void)world.store().messages().turn({.delay_queue = "orders", .ready = {.max = 10, .max_bytes = 1000}}).value();
  (void)world.post(messages, R"({"id":"ready","delay":"0s"})");
  for (const char* id : {"ready", "m"}) {
    const std::string message = messages + "/" + id;
    (void)world.get(message);
    (void)world.call("PATCH", message, R"({"delay":"2h"})");
    (void)world.call("DELETE", message);
  }
  for (const Route& route : routes()) {
    if (!route.pattern.starts_with("/v1/delay/{queue}")) continue;
    std::string target = fill(route.pattern);
    target.replace(target.find("orders"), 6, "nowhere");
    (void)world.call(route.method, target, good_body(route));
  }
}

// Good requests, malformed ones, and requests for missing things.
Seen walk_usual() {
  ApiWorld world;
  call_all(world, good_body);  // some are not found yet
  call_all(world, good_body);  // repeated
  call_all(world, refused_body);
  for (const Route& route : routes()) {
    const std::string target = fill(route.pattern);
    (void)world.call(method_of(route), target + "?nonsense=1", good_body(route));
    (void)world.call(method_of(route), target + "?%zz=1", good_body(route));
    if (route.pattern.find('{') != std::string::npos) {
      (void)world.call(method_of(route), with_bad_escape(route.pattern), good_body(route));
    }
    if (!route.parameters.empty()) (void)world.call(method_of(route), target + "?limit=0");
    if (route.body.empty()) continue;
    (void)world.call(route.method, target, "{");
    (void)world.call(route.method, target, "{}", "Content-Type: text/plain\r\n");
    (void)world.call(route.method, target, std::string(HttpLimits().body_bytes + 1, ' '));
  }
  call_delay_queues(world);
  const std::string id = world.submit("mail", R"("priority":9)");
  (void)world.get("/v1/tasks/" + id);
  (void)world.get("/v1/tasks/nonsense");
  (void)world.get("/v1/tasks/" + id + "/explain");
  (void)world.get("/v1/tasks/nonsense/explain");
  (void)world.get("/v1/queues/a%20b/keys/k");
  (void)world.get("/v1/queues/none/keys/k");
  (void)world.get("/v1/queues/none");
  (void)world.call("DELETE", "/v1/queues/none");
  (void)world.call("DELETE", "/v1/queues/a%20b");
  (void)world.post("/v1/queues/none/pause");
  (void)world.post("/v1/queues/none/resume");
  (void)world.post("/v1/queues/a%20b/pause");
  (void)world.post("/v1/queues/a%20b/resume");
  (void)world.post("/v1/tasks/nonsense/cancel");
  (void)world.post("/v1/tasks", R"({"queue":"mail","spec":2,"key":"k"})");
  (void)world.post("/v1/scheduler/start");
  (void)world.claim("mail", 1000);
  (void)world.settle("complete", id, 1);
  (void)world.post("/v1/tasks/" + id + "/cancel");
  (void)world.post("/v1/tasks/" + world.submit() + "/cancel");
  (void)world.get("/tasks/" + text_of(world.post("/tasks", R"({"command":"5s"})").body, "id"));
  const std::string schedule = good_body(*std::ranges::find(routes(), "put_schedule", &Route::name));
  for (int i = 0; i < 2; ++i) (void)world.call("PUT", "/v1/schedules/nightly", schedule);
  for (const char* what : {"", "/fires", "/preview"}) (void)world.get(std::string("/v1/schedules/nightly") + what);
  for (const char* what : {"pause", "resume", "trigger"})
    (void)world.post(std::string("/v1/schedules/nightly/") + what);
  (void)world.call("PUT", "/v1/schedules/nightly", schedule, fmt::format("If-Match: \"{}\"\r\n", kNoTask));
  (void)world.call("DELETE", "/v1/schedules/nightly");
  for (const char* what : {"", "/fires", "/preview"}) (void)world.get(std::string("/v1/schedules/none") + what);
  for (const char* what : {"pause", "resume", "trigger"}) (void)world.post(std::string("/v1/schedules/none/") + what);
  const auto token = world.post("/v1/tokens", R"({"name":"build","role":"read","queues":["*"]})");
  (void)world.call("DELETE", "/v1/tokens/" + text_of(token.body, "id"));
  for (const char* target : {"/scheduler/stop", "/scheduler/stop", "/scheduler/start", "/scheduler/start"})
    (void)world.post(target);
  (void)world.submit();
  for (const char* owner : {"worker-1", "worker-2"}) {
    (void)world.post("/v1/claim", fmt::format(R"({{"owner":"{}","queues":["mail"],"wait":"0s","token":"{}"}})", owner,
                                              "0190f7c2-0a1b-7c3d-8e4f-0123456789ab"));
  }
  (void)world.post("/v1/exchange", R"({"owner":"worker-2","claim":{"queues":["mail"],)"
                                   R"("token":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab"}})");
  (void)world.call("DELETE", "/v1/queues/mail?cancel_tasks=true");
  return world.seen();
}

// Calls that a store or the combiner can refuse because of a limit.
bool can_be_over_limit(const Route& route) {
  static const std::set<std::string_view> kRoutes = {
      "submit_task",  "submit_tasks",      "cancel_task",  "cancel_tasks", "settle_tasks",
      "change_queue", "tms_schedule_task", "create_token", "put_schedule", "trigger_schedule"};
  return kRoutes.contains(route.name);
}

Seen walk_failing_store(ErrorCode code) {
  ApiWorld world;
  world.gate().fail_with(code);
  world.check_readiness();
  for (const Route& route : routes()) {
    if (route.name == "claim_tasks" || (code == ErrorCode::kOverLimit && !can_be_over_limit(route))) continue;
    (void)world.call(method_of(route), fill(route.pattern), good_body(route));
  }
  if (code == ErrorCode::kUnavailable) (void)world.claim();
  return world.seen();
}

// One read is blocked, one is queued; the next is one too many.
Seen walk_busy_pool() {
  ApiWorld world({.read_threads = 1, .max_waiting_reads = 1});
  world.gate().hold();
  TestClient held = world.connect();
  EXPECT_TRUE(held.send(request_text("GET", "/v1/queues")));
  world.gate().wait_for_held(1);
  TestClient waiting = world.connect();
  EXPECT_TRUE(waiting.send(request_text("GET", "/v1/queues")));
  // It is in the queue once later requests on each thread of the server have been answered.
  for (int i = 0; i < 4; ++i) EXPECT_EQ(world.connect().call("GET", "/healthz").status, 200);
  for (const Route& route : routes()) {
    if (route.method == "GET") (void)world.call(method_of(route), fill(route.pattern));
  }
  for (const char* target : {"/scheduler/start", "/scheduler/stop", "/v1/workers"}) (void)world.post(target);
  const Seen seen = world.seen();
  world.gate().open();
  return seen;
}

TEST(OpenApi, EachRouteAnswersWithExactlyItsDocumentedStatuses) {
  Seen seen = walk_usual();
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kOverLimit}) merge(seen, walk_failing_store(code));
  merge(seen, walk_busy_pool());
  merge(seen, walk_gate());
  merge(seen, walk_full_streams());
  for (const Route& route : routes()) {
    std::set<int> documented;
    for (const Answer& answer : documented_answers(route)) documented.insert(answer.status);
    EXPECT_EQ(seen[fmt::format("{} {}", route.method, route.pattern)], documented)
        << route.method << " " << route.pattern;
  }
}

TEST(OpenApi, TheServedDocumentHasEachRouteAndNoDanglingReference) {
  ApiWorld world;
  const auto response = world.get("/openapi.json");
  ASSERT_EQ(response.status, 200);
  ASSERT_TRUE(scan_json(response.body).ok()) << scan_json(response.body).error().message;
  EXPECT_EQ(text_of(response.body, "openapi"), "3.1.0");
  const std::string paths = member(response.body, "paths");
  for (const Route& route : routes()) {
    std::string method(route.method);
    for (char& c : method) c = static_cast<char>(c | 0x20);
    EXPECT_EQ(text_of(member(member(paths, route.pattern), method), "operationId"), route.name);
  }
  const std::string schemas = member(member(response.body, "components"), "schemas");
  constexpr std::string_view kReference = "#/components/schemas/";
  for (std::size_t at = response.body.find(kReference); at != std::string::npos;
       at = response.body.find(kReference, at + 1)) {
    const std::size_t from = at + kReference.size();
    const std::string name = response.body.substr(from, response.body.find('"', from) - from);
    EXPECT_NE(member(schemas, name), "") << name;
  }
}

TEST(OpenApi, NamesOfRoutesAreUnique) {
  std::set<std::string_view> names;
  for (const Route& route : routes()) EXPECT_TRUE(names.insert(route.name).second) << route.name;
}

TEST(DocsPage, LoadsNothingFromOtherSites) {
  ApiWorld world;
  const auto response = world.get("/docs");
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.headers.at("content-type"), HasSubstr("text/html"));
  EXPECT_THAT(response.headers.at("content-security-policy"), HasSubstr("default-src 'none'"));
  EXPECT_THAT(response.body, HasSubstr("/openapi.json"));
  EXPECT_THAT(response.body, Not(HasSubstr("http://")));
  EXPECT_THAT(response.body, Not(HasSubstr("https://")));
  EXPECT_THAT(response.body, Not(HasSubstr("src=")));
}

// The tests run no browser, so this checks the text of the page.
TEST(DocsPage, InsertsProseAsTextOnly) {
  const std::string page(docs_page());
  EXPECT_THAT(page, Not(HasSubstr("innerHTML")));
  EXPECT_THAT(page, Not(HasSubstr("insertAdjacentHTML")));
  for (const char* prose :
       {"operation.summary", "answer.description", "parameter.description", "spec.info.description"}) {
    EXPECT_THAT(page, HasSubstr(fmt::format("...words({})", prose)));
  }
}

TEST(DocsPage, TheRootRedirectsToIt) {
  ApiWorld world;
  const auto response = world.get("/?from=elsewhere");
  EXPECT_EQ(response.status, 302);
  EXPECT_EQ(response.headers.at("location"), "/docs");
  EXPECT_EQ(world.get(response.headers.at("location")).status, 200);
}

TEST(Node, IsHealthyButNotReadyWithoutItsStore) {
  ApiWorld world;
  EXPECT_EQ(text_of(world.get("/healthz").body, "status"), "ok");
  EXPECT_EQ(text_of(world.get("/readyz").body, "status"), "ready");
  world.gate().fail_with(ErrorCode::kUnavailable);
  world.check_readiness();
  EXPECT_EQ(world.get("/healthz").status, 200);
  EXPECT_EQ(world.get("/readyz").status, 503);
  world.gate().fail_with(std::nullopt);
  world.check_readiness();
  EXPECT_EQ(world.get("/readyz").status, 200);
}

TEST(Node, MetricsCountQueuesAndRequests) {
  ApiWorld world;
  (void)world.submit("mail");
  const auto response = world.get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.headers.at("content-type"), HasSubstr("text/plain"));
  EXPECT_THAT(response.body, HasSubstr(R"(horae_queue_tasks{queue="mail",state="ready"} 1)"));
  EXPECT_THAT(response.body, HasSubstr(R"(horae_http_requests_total{method="POST",route="/v1/tasks",status="201"} 1)"));
  EXPECT_THAT(response.body, HasSubstr("horae_store_up 1"));
  EXPECT_THAT(response.body, HasSubstr("horae_waiting_workers 0"));
  world.gate().fail_with(ErrorCode::kUnavailable);
  EXPECT_THAT(world.get("/metrics").body, HasSubstr("horae_store_up 0"));
}

TEST(Node, MetricsTimeReadyTasksAndRequests) {
  ApiWorld world;
  (void)world.submit("mail");
  world.gate().hold();
  TestClient slow = world.connect();
  ASSERT_TRUE(slow.send(request_text("GET", "/v1/queues")));
  world.gate().wait_for_held(1);
  world.advance(std::chrono::seconds(7));
  world.gate().open();
  EXPECT_EQ(slow.receive()->status, 200);
  const std::string text = world.get("/metrics").body;
  EXPECT_THAT(text, HasSubstr(R"(horae_queue_oldest_ready_seconds{queue="mail"} 7)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_http_request_seconds_count{method="GET",route="/v1/queues"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_http_request_seconds_sum{method="GET",route="/v1/queues"} 7)"));
  EXPECT_THAT(text, HasSubstr(R"(horae_http_request_seconds_bucket{method="GET",route="/v1/queues",le="5"} 0)"));
}

}  // namespace
}  // namespace horae::testing
