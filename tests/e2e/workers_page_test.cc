// The worker of docs/start/workers.md as printed, including failures, against the real binary on SQLite.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>
#include <memory>
#include <regex>

#include "base/clock.h"
#include "base/waker.h"
#include "http/test_certificate.h"
#include "tests/e2e/page.h"
#include "tests/e2e/running_node.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::string program() { return blocks_of("start/workers.md", "python").at(0); }

std::string port_in(const std::string& url) { return url.substr(url.rfind(':') + 1); }

// A proxy between a worker and a node. For each path it refuses the first call with 503, and drops the response of the
// next one that took effect.
constexpr char kBadWire[] = R"(
import http.server, sys, urllib.request
busy, lost = ({"/v1/workers", "/v1/exchange", "/v1/settle"} for _ in range(2))
class Wire(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path in busy:
            busy.discard(self.path)
            self.send_response(503)
            self.send_header("Retry-After", "0")
            self.end_headers()
            return
        request = urllib.request.Request(sys.argv[1] + self.path, body, {"Content-Type": "application/json"})
        answer = urllib.request.urlopen(request).read()
        if self.path in lost and b'"tasks":[]' not in answer:
            lost.discard(self.path)
            print("dropped the response of", self.path, flush=True)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Wire)
print("port", server.server_address[1], flush=True)
server.serve_forever()
)";

class WorkersPage : public ::testing::Test {
 protected:
  WorkersPage() { start("127.0.0.1:0"); }

  void start(const std::string& listen, const std::vector<std::string>& more = {}) {
    std::vector<std::string> flags = {"--http-listen", listen, "--store", store()};
    flags.insert(flags.end(), more.begin(), more.end());
    node_ = std::make_unique<RunningNode>(flags);
  }

  std::string store() const { return "sqlite:" + folder_.path() + "/horae.db"; }

  // The worker as printed, with those nodes.
  static std::unique_ptr<Process> worker(const std::string& nodes, const std::vector<std::string>& environment = {}) {
    std::vector<std::string> command = {"/usr/bin/env", "HORAE_NODES=" + nodes};
    command.insert(command.end(), environment.begin(), environment.end());
    command.insert(command.end(), {"/usr/bin/python3", "-c", program()});
    return std::make_unique<Process>(command);
  }
  std::unique_ptr<Process> worker() const { return worker(node_->url()); }

  // A mail to that many people; each takes the worker a tenth of a second.
  std::string submit(int people, const std::string& last = "ada@example.org") {
    std::string to;
    for (int i = 1; i < people; ++i) to += R"("joan@example.org",)";
    return text_in(
        node_->post("/v1/tasks", fmt::format(R"({{"queue":"mail","spec":{{"to":[{}"{}"],"text":"hello"}}}})", to, last))
            .body,
        "id");
  }

  std::string task(const std::string& id) { return node_->get("/v1/tasks/" + id).body; }
  std::string state_of(const std::string& id) { return text_in(task(id), "state"); }

  void wait_for(const std::string& id, const std::string& state) {
    Waker never_woken;
    while (state_of(id) != state) (void)never_woken.wait(SystemClock().now() + 20ms);
  }

  // The worker's line at the end of its next run: "complete accepted".
  static std::string ending(Process& worker) {
    std::string line;
    while (line.find("task ") != 0) {
      const auto next = worker.read_line();
      if (!next) return "the worker has ended";
      line = *next;
    }
    return line.substr(line.find(": ") + 2);
  }

  static std::string mail(const std::string& id, int number) { return fmt::format("mail {}/{} ", id, number); }

  const TemporaryFolder folder_;
  std::unique_ptr<RunningNode> node_;
};

TEST_F(WorkersPage, CompletesTheTaskOfThePage) {
  const auto shells = blocks_of("start/workers.md", "sh");
  ASSERT_THAT(shells, SizeIs(1));
  Process curl({"/bin/bash", "-c", std::regex_replace(shells[0], std::regex("3369"), port_in(node_->url()))});
  const std::string id = text_in(curl.read_rest(), "id");
  const auto one = worker();
  EXPECT_TRUE(one->read_until("to joan@example.org: hello"));
  wait_for(id, "completed");
  EXPECT_THAT(task(id), HasSubstr(R"("result":{"sent": 2})"));
}

TEST_F(WorkersPage, AbortsTheTaskWithTheExceptionOfTheWork) {
  const auto one = worker();
  const std::string id = submit(2, "nobody");
  EXPECT_EQ(ending(*one), "abort accepted");
  EXPECT_THAT(task(id), AllOf(HasSubstr(R"("state":"aborted")"), HasSubstr(R"("code":"ValueError")"),
                              HasSubstr("nobody is no address")));
}

// The node is down when a heartbeat and the completion are due.
TEST_F(WorkersPage, AKilledNodeCostsNoAttempt) {
  const auto one = worker();
  const std::string id = submit(60);
  ASSERT_TRUE(one->read_until(mail(id, 3)));
  const std::string address = "127.0.0.1:" + port_in(node_->url());
  node_->kill();
  ASSERT_TRUE(one->read_until("/v1/settle: "));
  ASSERT_TRUE(one->read_until(mail(id, 59)));
  ASSERT_TRUE(one->read_until("/v1/settle: "));
  start(address);
  EXPECT_EQ(ending(*one), "complete accepted");
  EXPECT_THAT(task(id), AllOf(HasSubstr(R"("state":"completed")"), HasSubstr(R"("attempt":1,"tries":0)"),
                              HasSubstr(R"("result":{"sent": 60})")));
}

TEST_F(WorkersPage, RetriesAfterLostResponsesAndTemporaryRefusals) {
  Process wire({"/usr/bin/python3", "-c", kBadWire, node_->url()});
  const std::string line = wire.read_line().value_or("");
  const auto one = worker("http://127.0.0.1:" + line.substr(line.find(' ') + 1));
  ASSERT_TRUE(one->read_until("I am "));
  const std::string id = submit(2);
  EXPECT_EQ(ending(*one), "complete repeated");
  for (const char* path : {"/v1/workers", "/v1/exchange", "/v1/settle"}) EXPECT_TRUE(wire.read_until(path)) << path;
  EXPECT_THAT(task(id), AllOf(HasSubstr(R"("state":"completed")"), HasSubstr(R"("attempt":1,"tries":0)")));
}

TEST_F(WorkersPage, TriesTheNextNodeWhenOneIsDown) {
  const auto one = worker("http://127.0.0.1:1," + node_->url());
  const std::string id = submit(1);
  EXPECT_EQ(ending(*one), "complete accepted");
  EXPECT_EQ(state_of(id), "completed");
}

TEST_F(WorkersPage, AuthenticatesByTokenOverTls) {
  (void)node_->stop();
  const auto token = [this](const std::string& role, const std::string& queues) {
    Process horae({HORAE_BINARY, "token", "create", "--offline", "--json", "--store", store(), "--name", role, "--role",
                   role, "--queues", queues});
    return text_in(horae.read_rest(), "secret");
  };
  const std::string admin = token("admin", "*");
  const std::string work = token("work", "mail");
  const TlsOptions tls = write_certificate(folder_.path(), "node");
  start("https://127.0.0.1:0",
        {"--http-tls-certificate", tls.certificate, "--http-tls-key", tls.key, "--http-require-token", "true"});
  const auto one = worker(node_->url(), {"HORAE_TOKEN=" + work, "HORAE_CA=" + tls.certificate});
  Process horae({HORAE_BINARY, "task", "submit", "mail", R"({"to":["ada@example.org"],"text":"hello"})", "--wait",
                 "--node", node_->url(), "--ca", tls.certificate, "--token", admin});
  EXPECT_THAT(horae.read_rest(), HasSubstr("completed"));
  EXPECT_EQ(ending(*one), "complete accepted");
}

TEST_F(WorkersPage, StopsTheWorkOnACancelAndContinues) {
  const auto one = worker();
  const std::string id = submit(100);
  ASSERT_TRUE(one->read_until(mail(id, 2)));
  ASSERT_EQ(node_->post("/v1/tasks/" + id + "/cancel").status, 200);
  EXPECT_EQ(ending(*one), "left alone, Lost cancelled");
  EXPECT_EQ(state_of(id), "cancelled");
  const std::string next = submit(1);
  wait_for(next, "completed");
}

// The test shortens the lease in the worker's name, and another worker claims the task.
TEST_F(WorkersPage, StopsTheWorkWhenTheLeaseIsLost) {
  const auto one = worker();
  const std::string id = submit(100);
  ASSERT_TRUE(one->read_until(mail(id, 2)));
  const std::string owner = text_in(task(id), "owner");
  const auto settle = [&](const std::string& event, int attempt, const std::string& who, const std::string& more = {}) {
    return node_
        ->post("/v1/settle",
               fmt::format(R"({{"settlements":[{{"event":"{}","id":"{}","attempt":{},"owner":"{}"{}}}]}})", event, id,
                           attempt, who, more))
        .body;
  };
  ASSERT_THAT(settle("heartbeat", 1, owner, R"(,"lease":"100ms")"), HasSubstr("accepted"));
  ASSERT_THAT(node_->post("/v1/claim", R"({"owner":"another","queues":["mail"],"wait":"30s","lease":"1h"})").body,
              HasSubstr(R"("attempt":2)"));
  EXPECT_EQ(ending(*one), "left alone, Lost stale_attempt");
  EXPECT_THAT(settle("complete", 2, "another"), HasSubstr("accepted"));
  EXPECT_EQ(state_of(id), "completed");
}

TEST_F(WorkersPage, YieldsOnSigtermAndAnotherWorkerContinuesFromTheCheckpoint) {
  const auto one = worker();
  const std::string id = submit(30);
  ASSERT_TRUE(one->read_until(mail(id, 5)));
  one->send_signal(SIGTERM);
  EXPECT_THAT(one->read_rest(), AllOf(HasSubstr("yield accepted\n"), HasSubstr("stopped\n")));
  EXPECT_EQ(one->wait().exit_code, 0);
  EXPECT_THAT(task(id), AllOf(HasSubstr(R"("state":"ready")"), HasSubstr(R"("_typ":"TaskYield")")));

  const auto other = worker();
  ASSERT_TRUE(other->read_until("I am "));
  EXPECT_THAT(other->read_line().value_or(""), AllOf(HasSubstr("mail " + id), Not(HasSubstr(mail(id, 0)))));
  EXPECT_EQ(ending(*other), "complete accepted");
  EXPECT_THAT(task(id), AllOf(HasSubstr(R"("state":"completed")"), HasSubstr(R"("attempt":2,"tries":0)"),
                              HasSubstr(R"("result":{"sent": 30})")));
}

// Over a wire that loses answers, with more tasks than it holds at once.
TEST_F(WorkersPage, TheWorkerForSmallTasksRunsEachOnce) {
  Process wire({"/usr/bin/python3", "-c", kBadWire, node_->url()});
  const std::string line = wire.read_line().value_or("");
  const Process many({"/usr/bin/env", "HORAE_NODES=http://127.0.0.1:" + line.substr(line.find(' ') + 1),
                      "/usr/bin/python3", "-c", blocks_of("start/workers.md", "python").at(1)});
  std::string tasks;
  for (int i = 0; i < 300; ++i) tasks += R"({"queue":"small","spec":{"text":"hello"}},)";
  tasks.pop_back();
  ASSERT_EQ(node_->post("/v1/tasks/batch", R"({"tasks":[)" + tasks + "]}").status, 200);
  const auto small = [this] { return node_->get("/v1/queues").body; };
  Waker never_woken;
  while (small().find(R"("completed":300)") == std::string::npos) (void)never_woken.wait(SystemClock().now() + 20ms);
  EXPECT_THAT(node_->get("/v1/tasks?queue=small&limit=1").body,
              AllOf(HasSubstr(R"("result":{"length": 5})"), HasSubstr(R"("attempt":1)")));
}

TEST_F(WorkersPage, AnIdleWorkerEndsOnSigterm) {
  const auto one = worker();
  ASSERT_TRUE(one->read_until("I am "));
  one->send_signal(SIGTERM);
  EXPECT_THAT(one->read_rest(), HasSubstr("stopped\n"));
  EXPECT_EQ(one->wait().exit_code, 0);
}

}  // namespace
}  // namespace horae::testing
