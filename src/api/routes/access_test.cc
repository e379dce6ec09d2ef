// Roles and patterns of queues on every route, by real calls.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/json/task_json.h"
#include "api/test_world.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kToken = "Authorization: Bearer secret\r\n";
constexpr std::string_view kSpec = "crown jewels";

// The values of {queue}, {ready} and {running} in the target and body of a call.
struct Place {
  std::string_view queue;
  std::string_view ready;    // a task with the key "k"
  std::string_view running;  // a task whose attempt 1 is leased to worker-1
  std::string_view lease;    // the token of that lease
};
constexpr Place kInside = {"mail.in", "00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002",
                           "00000000-0000-7000-8000-0000000000a1"};
constexpr Place kOutside = {"vault", "00000000-0000-7000-8000-000000000003", "00000000-0000-7000-8000-000000000004",
                            "00000000-0000-7000-8000-0000000000a2"};

// A call of a route. `roles` may make it; a token for some queues gets `inside` for one of them, `outside` for another.
struct RouteCall {
  std::string_view roles;
  std::string_view target;
  int inside;
  int outside;
  std::string_view body = {};
};

constexpr std::string_view kAll = "read submit work admin";

// Each route. One that is not here fails the tests.
const std::map<std::string_view, RouteCall>& route_calls() {
  static const std::map<std::string_view, RouteCall> kCalls = {
      {"submit_task", {"submit admin", "/v1/tasks", 201, 403, R"({"queue":"{queue}","spec":1})"}},
      {"submit_tasks", {"submit admin", "/v1/tasks/batch", 200, 200, R"({"tasks":[{"queue":"{queue}","spec":1}]})"}},
      {"list_tasks", {kAll, "/v1/tasks?queue={queue}", 200, 403}},
      {"get_task", {kAll, "/v1/tasks/{ready}", 200, 404}},
      {"find_task", {kAll, "/v1/queues/{queue}/keys/k", 200, 403}},
      {"cancel_task", {"submit admin", "/v1/tasks/{ready}/cancel", 200, 404}},
      {"cancel_tasks", {"submit admin", "/v1/tasks/cancel", 200, 200, R"({"ids":["{ready}","{running}"]})"}},
      {"explain_task", {kAll, "/v1/tasks/{ready}/explain", 200, 404}},
      {"stream_events", {kAll, "/v1/events?queue={queue}", 200, 403}},
      {"register_worker", {"work admin", "/v1/workers", 201, 201}},
      {"claim_tasks", {"work admin", "/v1/claim", 200, 403, R"({"owner":"worker-2","queues":["{queue}"]})"}},
      {"settle_tasks",
       {"work admin", "/v1/settle", 200, 200,
        R"({"settlements":[{"event":"complete","id":"{running}","attempt":1,"owner":"worker-1"}]})"}},
      {"exchange",
       {"work admin", "/v1/exchange", 200, 403,
        R"({"owner":"worker-2","claim":{"queues":["{queue}"],"token":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab"}})"}},
      {"list_queues", {kAll, "/v1/queues", 200, 200}},
      {"get_queue", {kAll, "/v1/queues/{queue}", 200, 403}},
      {"change_queue", {"admin", "/v1/queues/{queue}", 200, 403, R"({"ageing_rate":2})"}},
      {"delete_queue", {"admin", "/v1/queues/{queue}", 409, 403}},  // tasks wait in it
      {"pause_queue", {"admin", "/v1/queues/{queue}/pause", 200, 403}},
      {"resume_queue", {"admin", "/v1/queues/{queue}/resume", 200, 403}},
      {"list_schedules", {kAll, "/v1/schedules", 200, 200}},
      {"put_schedule",
       {"submit admin", "/v1/schedules/s-{running}", 201, 403,
        R"({"every":"1h","task":{"queue":"{queue}","spec":1}})"}},
      {"get_schedule", {kAll, "/v1/schedules/s-{ready}", 200, 404}},
      {"delete_schedule", {"submit admin", "/v1/schedules/s-{ready}", 204, 404}},
      {"pause_schedule", {"submit admin", "/v1/schedules/s-{ready}/pause", 200, 404}},
      {"resume_schedule", {"submit admin", "/v1/schedules/s-{ready}/resume", 200, 404}},
      {"list_fires", {kAll, "/v1/schedules/s-{ready}/fires", 200, 404}},
      {"preview_schedule", {kAll, "/v1/schedules/s-{ready}/preview", 200, 404}},
      {"preview_new_schedule",
       {kAll, "/v1/schedules/any/preview", 200, 200, R"({"every":"1h","task":{"queue":"any","spec":1}})"}},
      {"trigger_schedule", {"submit admin", "/v1/schedules/s-{ready}/trigger", 201, 404}},
      {"list_delay_queues", {kAll, "/v1/delay", 200, 200}},
      {"get_delay_queue", {kAll, "/v1/delay/{queue}", 200, 403}},
      {"put_message", {"submit admin", "/v1/delay/{queue}/messages", 201, 403, R"({"id":"m","delay":"1h"})"}},
      {"put_messages",
       {"submit admin", "/v1/delay/{queue}/messages/batch", 200, 403, R"({"messages":[{"id":"m","delay":"1h"}]})"}},
      {"list_messages", {kAll, "/v1/delay/{queue}/messages", 200, 403}},
      {"get_message", {kAll, "/v1/delay/{queue}/messages/none", 404, 403}},
      {"cancel_message", {"submit admin", "/v1/delay/{queue}/messages/none", 404, 403}},
      {"move_message", {"submit admin", "/v1/delay/{queue}/messages/none", 404, 403, R"({"delay":"1h"})"}},
      {"get_scheduler", {kAll, "/v1/scheduler", 403, 403}},
      {"start_scheduler", {"admin", "/v1/scheduler/start", 403, 403}},
      {"stop_scheduler", {"admin", "/v1/scheduler/stop", 403, 403}},
      {"tms_schedule_task", {"submit admin", "/tasks", 403, 403, R"({"command":"5s"})"}},
      {"tms_list_tasks", {kAll, "/tasks", 403, 403}},
      {"tms_get_task", {kAll, "/tasks/{ready}", 403, 403}},
      {"master_start_scheduler", {"admin", "/scheduler/start", 403, 403}},
      {"master_stop_scheduler", {"admin", "/scheduler/stop", 403, 403}},
      {"list_nodes", {kAll, "/v1/nodes", 403, 403}},
      {"create_token", {"admin", "/v1/tokens", 403, 403, R"({"name":"n","role":"admin","queues":["*"]})"}},
      {"list_tokens", {"admin", "/v1/tokens", 403, 403}},
      {"revoke_token", {"admin", "/v1/tokens/t-000000000000", 403, 403}},
      {"get_metrics", {kAll, "/metrics", 403, 403}},
      {"get_health", {"open", "/healthz", 200, 200}},
      {"get_readiness", {"open", "/readyz", 200, 200}},
      {"get_openapi", {"open", "/openapi.json", 200, 200}},
      {"get_root", {"open", "/", 302, 302}},
      {"get_docs", {"open", "/docs", 200, 200}},
  };
  return kCalls;
}

std::string fill(std::string_view text, const Place& place) {
  std::string filled(text);
  for (const auto& [name, value] : {std::pair{"{queue}", place.queue}, std::pair{"{ready}", place.ready},
                                    std::pair{"{running}", place.running}, std::pair{"{lease}", place.lease}}) {
    while (filled.find(name) != std::string::npos) {
      filled.replace(filled.find(name), std::string_view(name).size(), value);
    }
  }
  return filled;
}

Uuid uuid(std::string_view text) { return parse_uuid(text).value(); }

// A task that is ready and one that runs. Not through the API, so that requests have the same ids in all worlds.
void furnish(Store& store, const Place& place) {
  const std::string queue(place.queue);
  const std::string spec = fmt::format("\"{}\"", kSpec);
  const std::vector<Submission> running = {
      {.task = {.id = uuid(place.running), .queue = queue, .spec = spec}, .new_id = {}}};
  ASSERT_TRUE(store.tasks().submit(running).ok());
  const std::vector<ClaimWish> wish = {{.owner = "worker-1", .queues = {queue}, .max = 1, .token = uuid(place.lease)}};
  ASSERT_TRUE(store.tasks().claim(wish).ok());
  const std::vector<Submission> ready = {
      {.task = {.id = uuid(place.ready), .key = "k", .queue = queue, .spec = spec}, .new_id = {}}};
  ASSERT_TRUE(store.tasks().submit(ready).ok());
  const NewSchedule schedule{.name = "s-" + std::string(place.ready),
                             .task = {.queue = queue, .spec = spec},
                             .rules = {.every = std::chrono::hours(1)}};
  ASSERT_TRUE(store.schedules().put(schedule, uuid(place.lease), std::nullopt).ok());
}

Principal scoped_admin(const std::string& pattern = "mail.*") {
  return {.token_id = "t-1",
          .name = "scoped",
          .role = Role::kAdmin,
          .scope = std::make_shared<const QueueScope>(QueueScope::of({pattern}).value())};
}

TestResponse call_as_caller(ApiWorld& world, const Route& route, const RouteCall& call, const Place& place) {
  const std::string_view method = route.name == "stream_events" ? "HEAD" : route.method;  // a stream has no end
  return world.call(method, fill(call.target, place), fill(call.body, place), kToken);
}

bool is_let_in(int status) { return status != 401 && status != 403; }

TEST(Roles, HoldOnEveryRoute) {
  ApiWorld world;
  furnish(world.store(), kInside);
  for (const Route& route : routes()) {
    const auto found = route_calls().find(route.name);
    ASSERT_NE(found, route_calls().end()) << route.name << " is not in the table: which roles may call it?";
    const RouteCall& call = found->second;
    ASSERT_EQ(find_route(route.method, call.target.substr(0, call.target.find('?'))).route, &route);
    world.caller() = std::nullopt;
    EXPECT_EQ(call_as_caller(world, route, call, kInside).status == 401, call.roles != "open") << route.name;
    std::string let_in;
    for (const Role role : {Role::kRead, Role::kSubmit, Role::kWork, Role::kAdmin}) {
      world.caller() = Principal{.token_id = "t-1", .name = "one", .role = role};
      if (!is_let_in(call_as_caller(world, route, call, kInside).status)) continue;
      let_in += (let_in.empty() ? "" : " ") + std::string(to_string(role));
    }
    EXPECT_EQ(let_in, call.roles == "open" ? kAll : call.roles) << route.name;
  }
}

TEST(Scopes, LetATokenUseItsOwnQueues) {
  for (const Route& route : routes()) {
    ApiWorld world;
    furnish(world.store(), kInside);
    world.caller() = scoped_admin();
    const RouteCall& call = route_calls().at(route.name);
    EXPECT_EQ(call_as_caller(world, route, call, kInside).status, call.inside) << route.name;
  }
}

// A queue that the caller names is refused by name, whether or not it exists; an id tells nobody its queue, so a task
// that lies outside is one that does not exist. Batches say the same for each item, under 200.
TEST(Scopes, AQueueOutsideIsForbiddenAndAnIdOutsideIsNotFound) {
  for (const auto& [name, call] : route_calls()) {
    if (call.inside == call.outside) continue;  // independent of queues, or a batch
    const bool names_a_queue =
        call.target.find("{queue}") != std::string_view::npos || call.body.find("{queue}") != std::string_view::npos;
    EXPECT_EQ(call.outside, names_a_queue ? 403 : 404) << name;
  }
}

// The endpoints of the task management system have one queue.
TEST(Scopes, LetATokenForItsQueueUseTheTaskManagementSystem) {
  ApiWorld world;
  furnish(world.store(), {"tms", kInside.ready, kInside.running, kInside.lease});
  furnish(world.store(), kOutside);
  world.caller() = scoped_admin("tms");
  EXPECT_EQ(world.call("POST", "/tasks", R"({"command":"5s"})", kToken).status, 200);
  EXPECT_EQ(world.call("GET", fill("/tasks/{ready}", kInside), {}, kToken).status, 200);
  EXPECT_EQ(world.call("GET", fill("/tasks/{ready}", kOutside), {}, kToken).status, 404);
  const auto listed = world.call("GET", "/tasks", {}, kToken);
  EXPECT_THAT(listed.body, HasSubstr(std::string(kInside.ready)));
  EXPECT_THAT(listed.body, Not(HasSubstr(std::string(kOutside.ready))));
}

// Calls about what is outside that the table has no room for.
std::vector<TestResponse> call_more(ApiWorld& world) {
  const auto post = [&](std::string_view target, std::string_view body) {
    return world.call("POST", fill(target, kOutside), fill(body, kOutside), kToken);
  };
  return {
      world.call("GET", "/v1/tasks", {}, kToken),
      world.call("GET", "/v1/tasks?state=running", {}, kToken),
      world.call("GET", "/v1/tasks?state=ready", {}, kToken),
      world.call("GET", "/v1/queues/vault/keys/none", {}, kToken),
      world.call("HEAD", fill("/v1/events?task={ready}", kOutside), {}, kToken),
      post("/v1/claim", R"({"owner":"worker-1","queues":["mail.other"],"token":"{lease}"})"),
      post("/v1/claim", R"({"owner":"worker-1","queues":["mail.other","{queue}"]})"),
      post("/v1/settle", R"({"settlements":[{"event":"heartbeat","id":"{running}","attempt":1,"owner":"worker-1"},
                            {"event":"abort","id":"{running}","attempt":1,"owner":"worker-1",
                             "errors":[{"code":"x","description":"x"}]},
                            {"event":"yield","id":"{running}","attempt":1,"owner":"worker-1"},
                            {"event":"release","id":"{running}","attempt":1,"owner":"worker-1"}]})"),
      post("/v1/tasks/{running}/cancel", "{}"),
  };
}

std::vector<TestResponse> call_all_outside(ApiWorld& world) {
  world.caller() = scoped_admin();
  std::vector<TestResponse> responses;
  for (const Route& route : routes()) {
    responses.push_back(call_as_caller(world, route, route_calls().at(route.name), kOutside));
    EXPECT_EQ(responses.back().status, route_calls().at(route.name).outside) << route.name;
  }
  for (TestResponse& response : call_more(world)) responses.push_back(std::move(response));
  return responses;
}

// All that calls could have changed.
std::string state_of(Store& store) {
  std::string text;
  const std::vector<TaskId> ids = {uuid(kOutside.ready), uuid(kOutside.running)};
  for (const auto& task : store.tasks().get(ids).value()) {
    if (task) append_task(text, *task);
  }
  text += fmt::format("\n{} tasks", store.tasks().list({.limit = 100}).value().tasks.size());
  for (const QueueInfo& queue : store.queues().queues().value().queues) append_queue(text += '\n', queue);
  return text + fmt::format("\n{} {} tokens", store.queues().scheduler_running().value(),
                            store.tokens().tokens().value().tokens.size());
}

TEST(Scopes, TasksOutsideTheScopeAreNotListed) {
  ApiWorld world;
  ApiWorld without;  // the same, without what is outside
  furnish(world.store(), kInside);
  furnish(without.store(), kInside);
  furnish(world.store(), kOutside);
  const std::string before = state_of(world.store());
  const auto answers = call_all_outside(world);
  const auto expected = call_all_outside(without);
  ASSERT_EQ(answers.size(), expected.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].status, expected[i].status) << answers[i].body;
    EXPECT_EQ(answers[i].body, expected[i].body);
  }
  EXPECT_EQ(state_of(world.store()), before) << "nothing was changed";
}

TEST(Scopes, AnIdTakenOutsideTheScopeRevealsOnlyThat) {
  ApiWorld world;
  furnish(world.store(), kOutside);
  world.caller() = scoped_admin();
  const auto response =
      world.call("POST", "/v1/tasks", fill(R"({"id":"{ready}","queue":"mail.in","spec":1})", kOutside), kToken);
  EXPECT_EQ(response.status, 409);
  EXPECT_THAT(response.body, Not(HasSubstr("vault")));
  EXPECT_THAT(response.body, Not(HasSubstr(std::string(kSpec))));
}

TEST(Scopes, EventsOfOtherQueuesAreNotSent) {
  ApiWorld world;
  world.caller() = scoped_admin();
  TestClient reader = world.connect();
  ASSERT_TRUE(reader.send(request_text("GET", "/v1/events", {}, kToken)));
  ASSERT_EQ(reader.receive(true)->status, 200);
  ASSERT_TRUE(reader.receive_chunk());  // its position
  const std::vector<LiveEvent> events = {{uuid(kOutside.ready), State::kReady, std::string(kOutside.queue)},
                                         {uuid(kInside.ready), State::kReady, std::string(kInside.queue)}};
  world.events().add(events);
  const auto piece = reader.receive_chunk();
  ASSERT_TRUE(piece);
  EXPECT_THAT(*piece, HasSubstr(std::string(kInside.ready)));
  EXPECT_THAT(*piece, Not(HasSubstr("vault")));
  EXPECT_THAT(*piece, Not(HasSubstr(std::string(kOutside.ready))));
}

}  // namespace
}  // namespace horae::testing
