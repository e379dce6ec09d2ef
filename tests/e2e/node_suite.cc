#include <csignal>
#include <fstream>
#include <iterator>
#include <regex>

#include "base/waker.h"
#include "tests/e2e/node.h"

namespace horae::testing {

using std::literals::operator""ms;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

NodeOn::NodeOn() : store_(GetParam().make()) { start(); }

NodeOn::~NodeOn() {
  if (node_) stop();
}

void NodeOn::start(const std::vector<std::string>& more) {
  std::vector<std::string> flags = {"--http-listen", "127.0.0.1:0",       "--monitor-poll",
                                    "100ms",         "--upkeep-interval", "1s"};
  for (std::string& flag : store_->flags()) flags.push_back(std::move(flag));
  flags.insert(flags.end(), more.begin(), more.end());
  node_ = std::make_unique<RunningNode>(flags);
}

void NodeOn::stop() {
  EXPECT_THAT(node_->stop(), HasSubstr("horae stopped"));
  EXPECT_EQ(node_->process().wait().exit_code, 0);
  node_.reset();
}

void NodeOn::kill() {
  node_->kill();
  node_.reset();
}

std::string NodeOn::submit(const std::string& body) {
  const NetResponse answer = post("/v1/tasks", body);
  EXPECT_EQ(answer.status, 201) << answer.body;
  return text_in(answer.body, "id");
}

std::string NodeOn::state_of(const std::string& id) { return text_in(get("/v1/tasks/" + id).body, "state"); }

void NodeOn::wait_for(const std::string& id, const std::string& state) {
  Waker never_woken;
  while (state_of(id) != state) never_woken.wait(SystemClock().now() + 20ms);
}

std::string NodeOn::settle(const std::string& id, int attempt, const std::string& owner, const std::string& event,
                           const std::string& more) {
  const NetResponse answer =
      post("/v1/settle", R"({"settlements":[{"event":")" + event + R"(","id":")" + id + R"(","attempt":)" +
                             std::to_string(attempt) + R"(,"owner":")" + owner + "\"" + more + "}]}");
  EXPECT_EQ(answer.status, 200) << answer.body;
  return answer.body;
}

namespace {

TEST_P(NodeOn, RunsATaskFromSubmitToCompletion) {
  const std::string worker = text_in(post("/v1/workers").body, "id");
  const std::string id = submit(R"({"queue":"mail","key":"k-1","priority":7,"spec":{"n":1.50,"n":2}})");
  const std::string claimed = post("/v1/claim", R"({"owner":")" + worker + R"(","queues":["mail"]})").body;
  EXPECT_THAT(claimed, AllOf(HasSubstr(id), HasSubstr(R"("spec":{"n":1.50,"n":2})"), HasSubstr(R"("attempt":1)")));
  EXPECT_THAT(settle(id, 1, worker, "heartbeat", R"(,"progress":0.5)"), HasSubstr("accepted"));
  EXPECT_THAT(get("/v1/tasks/" + id).body, HasSubstr(R"("progress":0.5)"));
  EXPECT_THAT(settle(id, 1, worker, "complete", R"(,"result":{"x":1e2})"), HasSubstr("accepted"));
  EXPECT_THAT(settle(id, 1, worker, "complete"), HasSubstr("repeated"));  // the first reply may have been lost
  EXPECT_THAT(get("/v1/tasks/" + id).body,
              AllOf(HasSubstr(R"("state":"completed")"), HasSubstr(R"("result":{"x":1e2})"),
                    HasSubstr(R"("_typ":"TaskAssignment")")));
  EXPECT_EQ(text_in(get("/v1/queues/mail/keys/k-1").body, "id"), id);
}

TEST_P(NodeOn, ARepeatedSubmitMakesOneTask) {
  const std::string body = R"({"queue":"mail","key":"once","spec":{}})";
  const std::string id = submit(body);
  const NetResponse again = post("/v1/tasks", body);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(text_in(again.body, "id"), id);
  EXPECT_EQ(post("/v1/tasks", R"({"queue":"mail","key":"once","spec":[]})").status, 409);
}

TEST_P(NodeOn, ExplainsRefusals) {
  EXPECT_EQ(get("/v1/tasks/nonsense").status, 400);
  EXPECT_EQ(get("/v1/tasks/00000000-0000-0000-0000-000000000001").status, 404);
  EXPECT_EQ(post("/v1/tasks", "{").status, 400);
  EXPECT_EQ(post("/v1/tasks", R"({"queue":"mail","spec":{},"priority":256})").status, 422);
  EXPECT_EQ(post("/v1/tasks", std::string(5 << 20, ' ')).status, 413);
  EXPECT_EQ(call("DELETE", "/v1/tasks").status, 405);
  const std::string id = submit(R"({"queue":"mail","spec":{}})");
  EXPECT_THAT(settle(id, 1, "worker-77", "complete"), HasSubstr("wrong_state"));
}

TEST_P(NodeOn, TheNodesOwnSlotsRunSleepTasks) {
  const NetResponse answer = post("/tasks", R"({"command":"50ms"})");
  EXPECT_THAT(answer.body, HasSubstr(R"("status":"SCHEDULED")"));
  const std::string id = text_in(answer.body, "id");
  wait_for(id, "completed");
  EXPECT_THAT(get("/tasks/" + id).body, HasSubstr(R"("status":"FINISHED")"));
  EXPECT_THAT(get("/tasks").body, HasSubstr(id));
}

TEST_P(NodeOn, CancelsARunningTaskAndRepeatsARecurringOne) {
  const std::string slow = submit(R"({"queue":"demo","spec":{"run":"sleep","for":"1h"}})");
  const std::string again = submit(R"({"queue":"demo","recurring":"20ms","spec":{"run":"sleep","for":"1ms"}})");
  wait_for(slow, "running");
  EXPECT_EQ(post("/v1/tasks/" + slow + "/cancel", R"({"reason":"enough"})").status, 200);
  Waker never_woken;
  while (get("/v1/scheduler").body.find(slow) != std::string::npos) never_woken.wait(SystemClock().now() + 20ms);
  EXPECT_THAT(get("/v1/tasks/" + slow).body, HasSubstr(R"("cancel_reason":"enough")"));
  while (get("/v1/tasks/" + again).body.find(R"("attempt":3)") == std::string::npos) {
    never_woken.wait(SystemClock().now() + 5ms);
  }
  EXPECT_EQ(post("/v1/tasks/" + again + "/cancel").status, 200);
}

TEST_P(NodeOn, AYieldKeepsTheCheckpointAndCostsNoTry) {
  const std::string id = submit(R"({"queue":"mail","max_attempts":1,"spec":{}})");
  const std::string claim = R"({"owner":"worker-9","queues":["mail"]})";
  (void)post("/v1/claim", claim);
  EXPECT_THAT(settle(id, 1, "worker-9", "yield", R"(,"progress":0.5,"checkpoint":{"page":12})"), HasSubstr("accepted"));
  EXPECT_THAT(post("/v1/claim", claim).body, AllOf(HasSubstr(R"("attempt":2)"), HasSubstr(R"({"page":12})")));
  EXPECT_THAT(settle(id, 2, "worker-9", "complete"), HasSubstr("accepted"));
  EXPECT_THAT(get("/v1/tasks/" + id).body,
              AllOf(HasSubstr(R"("_typ":"TaskYield")"), HasSubstr(R"("state":"completed")")));
}

TEST_P(NodeOn, PurgesEndedTasksAfterTheirRetention) {
  const std::string kept = submit(R"({"queue":"kept","spec":{}})");
  const std::string gone = submit(R"({"queue":"gone","spec":{}})");
  EXPECT_EQ(call("PATCH", "/v1/queues/gone", R"({"retention":"0s"})").status, 200);
  EXPECT_EQ(post("/v1/tasks/" + kept + "/cancel").status, 200);
  EXPECT_EQ(post("/v1/tasks/" + gone + "/cancel").status, 200);
  Waker never_woken;
  while (get("/v1/tasks/" + gone).status != 404) never_woken.wait(SystemClock().now() + 20ms);
  EXPECT_EQ(state_of(kept), "cancelled");
}

TEST_P(NodeOn, PausedQueuesAndAStoppedSchedulerHandOutNothing) {
  const std::string claim = R"({"owner":"worker-9","queues":["mail"]})";
  (void)submit(R"({"queue":"mail","spec":{}})");
  EXPECT_EQ(post("/v1/queues/mail/pause").status, 200);
  EXPECT_THAT(post("/v1/claim", claim).body, HasSubstr(R"("tasks":[])"));
  EXPECT_EQ(post("/v1/queues/mail/resume").status, 200);
  EXPECT_EQ(post("/scheduler/stop").status, 200);
  EXPECT_EQ(post("/scheduler/stop").status, 400);
  EXPECT_THAT(post("/v1/claim", claim).body, HasSubstr(R"("tasks":[])"));
  EXPECT_EQ(post("/scheduler/start").status, 200);
  EXPECT_THAT(post("/v1/claim", claim).body, Not(HasSubstr(R"("tasks":[])")));
}

constexpr char kSlowWorker[] = R"(
import json, os, signal, sys, urllib.request
def call(path, body):
    request = urllib.request.Request(sys.argv[1] + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))
task = call("/v1/claim", {"owner": "worker-slow", "queues": ["mail"], "lease": "1s", "wait": "10s"})["tasks"][0]
print("claimed", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
print(json.dumps(call("/v1/settle", {"settlements": [{"event": "complete", "id": task["id"], "attempt": task["attempt"],
                                                      "owner": "worker-slow", "result": "the first"}]})), flush=True)
)";

void wait_until_stopped(pid_t pid) {
  Waker never_woken;
  while (true) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    const std::string text((std::istreambuf_iterator<char>(status)), std::istreambuf_iterator<char>());
    if (text.find("State:\tT") != std::string::npos) return;
    never_woken.wait(SystemClock().now() + 5ms);
  }
}

TEST_P(NodeOn, RefusesALateResultAndKeepsItInTheHistory) {
  const std::string id = submit(R"({"queue":"mail","spec":{}})");
  Process worker({"/usr/bin/python3", "-c", kSlowWorker, url()});
  ASSERT_TRUE(worker.read_until("claimed"));
  wait_until_stopped(worker.pid());  // the worker stops itself, so that it cannot outrun the test
  wait_for(id, "ready");
  worker.send_signal(SIGCONT);
  EXPECT_THAT(worker.read_rest(), AllOf(HasSubstr("\"wrong_state\""),
                                        HasSubstr("cannot complete attempt 1 of worker-slow"), HasSubstr("ready")));
  EXPECT_THAT(get("/v1/tasks/" + id).body,
              AllOf(ContainsRegex("TaskAssignment.*TaskTimeout.*TaskLateResult"), HasSubstr(R"("state":"ready")"),
                    ContainsRegex(R"(\{"_typ":"TaskLateResult","worker":"worker-slow"[^}]*"attempt":1)")));
}

TEST_P(NodeOn, ALateResultDoesNotAffectTheNextAttempt) {
  const std::string id = submit(R"({"queue":"mail","spec":{}})");
  Process worker({"/usr/bin/python3", "-c", kSlowWorker, url()});
  ASSERT_TRUE(worker.read_until("claimed"));
  wait_until_stopped(worker.pid());
  EXPECT_THAT(post("/v1/claim", R"({"owner":"worker-next","queues":["mail"],"wait":"30s"})").body,
              AllOf(HasSubstr(id), HasSubstr(R"("attempt":2)")));
  worker.send_signal(SIGCONT);
  EXPECT_THAT(worker.read_rest(),
              AllOf(HasSubstr("\"stale_attempt\""), HasSubstr("attempt 2 is running on worker-next")));
  EXPECT_THAT(settle(id, 2, "worker-next", "complete", R"(,"result":"the second")"), HasSubstr("accepted"));
  EXPECT_THAT(get("/v1/tasks/" + id).body,
              AllOf(ContainsRegex(R"(\{"_typ":"TaskLateResult","worker":"worker-slow"[^}]*"attempt":1)"),
                    HasSubstr(R"("result":"the second")"), HasSubstr(R"("state":"completed")")));
}

TEST_P(NodeOn, YieldsItsTasksWhenStoppedAndContinuesAfterARestart) {
  const std::string id = submit(R"({"queue":"demo","spec":{"run":"sleep","for":"300ms"}})");
  wait_for(id, "running");
  stop();
  start();
  wait_for(id, "completed");
  // A claim in progress when the node stopped may have claimed it once more and released it.
  EXPECT_THAT(
      get("/v1/tasks/" + id).body,
      AllOf(ContainsRegex(R"("attempt":[23],"tries":0)"),
            ContainsRegex(R"(TaskAssignment[^}]*"attempt":1\}.*TaskYield[^}]*"attempt":1[,}].*TaskAssignment)")));
}

TEST_P(NodeOn, LosesNothingWhenKilled) {
  const std::string id = submit(R"({"queue":"mail","spec":{}})");
  kill();
  start();
  EXPECT_EQ(state_of(id), "ready");
}

TEST_P(NodeOn, ReportsItsHealth) {
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/readyz").status, 200);
  (void)submit(R"({"queue":"mail","spec":{}})");
  EXPECT_THAT(get("/metrics").body, AllOf(HasSubstr("horae_tasks_total"), HasSubstr(R"(queue="mail")")));
  EXPECT_THAT(get("/openapi.json").body, HasSubstr("\"openapi\":\"3.1"));
  EXPECT_THAT(get("/docs").body, HasSubstr("<html"));
}

}  // namespace
}  // namespace horae::testing
