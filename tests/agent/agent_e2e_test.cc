// `horae agent run` as real processes, beside a real node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <optional>

#include "tests/agent/test_agent.h"
#include "tests/e2e/running_node.h"
#include "tests/support/process.h"

namespace horae::agent {
namespace {

using horae::testing::Process;
using horae::testing::RunningNode;
using horae::testing::TemporaryFolder;
using horae::testing::text_in;
using horae::testing::wait_until;
using ::testing::AllOf;
using testing::content_of;
using ::testing::HasSubstr;
using testing::is_gone;
using testing::pid_in;
using testing::shell;
using testing::stubborn;

class AgentProcess : public ::testing::Test {
 protected:
  AgentProcess() {
    Process made({HORAE_BINARY, "token", "create", "--offline", "--data", folder_.path() + "/node", "--name", "all",
                  "--role", "admin", "--json"});
    token_ = text_in(made.read_rest(), "secret");
    EXPECT_FALSE(token_.empty());
    std::ofstream(folder_.path() + "/token") << token_ << "\n";
    start_node("127.0.0.1:0");
  }

  void start_node(const std::string& address) {
    node_.emplace(std::vector<std::string>{"--data", folder_.path() + "/node", "--http-listen", address, "--log-level",
                                           "off", "--http-require-token", "true"});
  }

  std::unique_ptr<Process> agent(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {HORAE_BINARY,
                                        "agent",
                                        "run",
                                        "--agent-nodes",
                                        node_->url(),
                                        "--agent-queues",
                                        "work",
                                        "--agent-token-file",
                                        folder_.path() + "/token",
                                        "--agent-data",
                                        folder_.path() + "/" + name,
                                        "--agent-programs",
                                        "sh",
                                        "--agent-grace",
                                        "400ms"};
    if (::geteuid() == 0) command.insert(command.end(), {"--agent-user", "root"});
    command.insert(command.end(), more.begin(), more.end());
    auto process = std::make_unique<Process>(command);
    EXPECT_TRUE(process->read_until("is running"));
    return process;
  }

  // Its first child: main.
  static pid_t main_of(const Process& agent) {
    const std::string pid = std::to_string(agent.pid());
    return std::stoi(content_of("/proc/" + pid + "/task/" + pid + "/children"));
  }

  NetResponse call(const std::string& method, const std::string& path, const std::string& body = {}) {
    return node_->call(method, path, body, token_);
  }
  std::string submit(const std::string& spec) {
    return text_in(call("POST", "/v1/tasks", R"({"queue":"work","spec":)" + spec + "}").body, "id");
  }
  std::string task(const std::string& id) { return call("GET", "/v1/tasks/" + id).body; }
  bool becomes(const std::string& id, const std::string& state) {
    return wait_until([&] { return text_in(task(id), "state") == state; });
  }

  // A program that writes its pid to the file "pid-ATTEMPT", leaves a stubborn process ("left-ATTEMPT"), and waits until
  // there is a file "go".
  std::string waiting() const {
    const std::string at = folder_.path() + "/";
    return shell(stubborn(at + "left-'$HORAE_ATTEMPT'") + "while [ ! -s " + at +
                 "left-$HORAE_ATTEMPT ]; do sleep 0.01; done; echo $$ > " + at + "pid-$HORAE_ATTEMPT; while [ ! -e " +
                 at + "go ]; do sleep 0.02; done; echo ran >> " + at + "ran; echo 7 > $HORAE_RESULT");
  }
  pid_t program(int attempt) const { return pid_in(folder_.path() + "/pid-" + std::to_string(attempt)); }
  bool is_tree_gone(int attempt) const {
    return is_gone(program(attempt)) && is_gone(pid_in(folder_.path() + "/left-" + std::to_string(attempt)));
  }
  void go() const { std::ofstream(folder_.path() + "/go") << ""; }
  std::string journal(const std::string& name) const { return content_of(folder_.path() + "/" + name + "/journal"); }

  TemporaryFolder folder_;
  std::string token_;
  std::optional<RunningNode> node_;
};

TEST_F(AgentProcess, RunsTasksAndKeepsTheirResults) {
  const auto worker = agent("a");
  const std::string done = submit(shell("echo hello"));
  const std::string failed = submit(shell("exit 3"));
  const std::string sleep = submit(R"({"run":"sleep","for":"10ms"})");
  const std::string unknown = submit(R"({"run":"dance"})");
  EXPECT_TRUE(becomes(done, "completed") && becomes(failed, "aborted") && becomes(sleep, "completed"));
  EXPECT_TRUE(becomes(unknown, "aborted"));
  EXPECT_THAT(task(done), HasSubstr(R"("output":"hello\n")"));
  EXPECT_THAT(task(failed), AllOf(HasSubstr(R"("code":"exit_code")"), HasSubstr(R"("exit_code":3)")));
  EXPECT_THAT(task(unknown), HasSubstr("unsupported_spec"));
  worker->send_signal(SIGTERM);
  EXPECT_EQ(worker->wait().exit_code, 0);
}

TEST_F(AgentProcess, EndsACancelledProgramAndAllThatItStarted) {
  const auto worker = agent("a", {"--agent-lease", "1s"});
  const std::string id = submit(waiting());
  const pid_t pid = program(1);
  EXPECT_FALSE(is_gone(pid));
  EXPECT_EQ(call("POST", "/v1/tasks/" + id + "/cancel").status, 200);
  EXPECT_TRUE(wait_until([&] { return is_tree_gone(1); }));
  EXPECT_EQ(text_in(task(id), "state"), "cancelled");
}

TEST_F(AgentProcess, RunsOnWhileTheNodeIsAwayAndReportsToTheNext) {
  const auto worker = agent("a", {"--agent-lease", "30s"});
  const std::string id = submit(waiting());
  const pid_t pid = program(1);
  const std::string address = node_->url().substr(node_->url().find("//") + 2);
  node_->kill();
  go();
  EXPECT_TRUE(wait_until([&] { return is_gone(pid); }));
  EXPECT_TRUE(wait_until([&] { return journal("a").find(R"("record":"end")") != std::string::npos; }));
  node_.reset();
  start_node(address);
  EXPECT_TRUE(becomes(id, "completed"));
  EXPECT_THAT(task(id), AllOf(HasSubstr(R"("result":7)"), HasSubstr(R"("attempt":1)")));
  EXPECT_EQ(content_of(folder_.path() + "/ran"), "ran\n");
}

TEST_F(AgentProcess, ReportsAfterARestartWhatItHadNotReported) {
  auto worker = agent("a", {"--agent-lease", "1m"});
  const std::string id = submit(waiting());
  (void)program(1);
  node_->process().send_signal(SIGSTOP);  // so the end is not acknowledged
  go();
  EXPECT_TRUE(wait_until([&] { return journal("a").find(R"("record":"end")") != std::string::npos; }));
  worker->send_signal(SIGKILL);
  (void)worker->wait();
  node_->process().send_signal(SIGCONT);
  worker = agent("a");
  EXPECT_TRUE(becomes(id, "completed"));
  EXPECT_THAT(task(id), AllOf(HasSubstr(R"("result":7)"), HasSubstr(R"("attempt":1)")));
  EXPECT_EQ(content_of(folder_.path() + "/ran"), "ran\n");
  EXPECT_TRUE(wait_until([&] { return journal("a").find(R"("record":"over")") != std::string::npos; }));
}

TEST_F(AgentProcess, GivesUpAfterARestartWhatWasRunning) {
  auto worker = agent("a", {"--agent-lease", "1h"});
  const std::string id = submit(waiting());
  (void)program(1);
  worker->send_signal(SIGKILL);
  (void)worker->wait();
  EXPECT_TRUE(wait_until([&] { return is_tree_gone(1); }));
  worker = agent("a");
  go();
  EXPECT_TRUE(becomes(id, "completed"));  // long before the lease of an hour
  EXPECT_THAT(task(id), AllOf(HasSubstr(R"("attempt":2)"), HasSubstr("TaskTimeout")));
}

TEST_F(AgentProcess, StopsARunWhoseLeaseItLostWhileItWasPaused) {
  const auto first = agent("a", {"--agent-lease", "1s", "--agent-slots", "1"});  // one slot: no claim of it waits
  const std::string id = submit(waiting());
  const pid_t pid = program(1);
  const pid_t main = main_of(*first);
  ::kill(main, SIGSTOP);
  const auto second = agent("b", {"--agent-lease", "1s"});
  EXPECT_FALSE(is_gone(program(2)));  // runs may overlap
  EXPECT_FALSE(is_gone(pid));
  ::kill(main, SIGCONT);
  EXPECT_TRUE(wait_until([&] { return is_tree_gone(1); }));
  go();
  EXPECT_TRUE(becomes(id, "completed"));
  EXPECT_THAT(task(id), HasSubstr(R"("attempt":2)"));
  EXPECT_EQ(content_of(folder_.path() + "/ran"), "ran\n");
}

TEST_F(AgentProcess, KeepsTheLateResultOfALostLeaseAsEvidence) {
  const auto first = agent("a", {"--agent-lease", "1s", "--agent-slots", "1"});  // one slot: no claim of it waits
  const std::string id = submit(waiting());
  const pid_t pid = program(1);
  const pid_t main = main_of(*first);
  ::kill(main, SIGSTOP);
  const auto second = agent("b", {"--agent-lease", "1s"});
  (void)program(2);
  go();
  EXPECT_TRUE(wait_until([&] { return is_gone(pid); }));
  ::kill(main, SIGCONT);
  EXPECT_TRUE(becomes(id, "completed"));
  EXPECT_TRUE(wait_until([&] { return task(id).find("LateResult") != std::string::npos; }));
}

TEST_F(AgentProcess, LeavesNothingBehindWhenMainIsKilled) {
  const auto worker = agent("a", {"--agent-lease", "1s"});
  const std::string id = submit(waiting());
  (void)program(1);
  ::kill(main_of(*worker), SIGKILL);
  EXPECT_EQ(worker->wait().exit_code, 128 + SIGKILL);
  EXPECT_TRUE(is_tree_gone(1));
  const auto second = agent("b");
  EXPECT_FALSE(is_gone(program(2)));
}

TEST_F(AgentProcess, RunsElsewhereWhatAKilledShimHad) {
  const auto worker = agent("a", {"--agent-lease", "1h"});
  const std::string id = submit(waiting());
  ::kill(testing::parent_of(program(1)), SIGKILL);
  EXPECT_TRUE(wait_until([&] { return is_tree_gone(1); }));
  EXPECT_FALSE(is_gone(program(2)));
  EXPECT_THAT(task(id), HasSubstr("TaskTimeout"));
}

TEST_F(AgentProcess, EndsItsProgramsAndExitsWithoutContactIfItIsSetToStop) {
  const auto worker =
      agent("a", {"--agent-stop-on-lost-contact", "true", "--agent-contact-timeout", "1s", "--agent-lease", "1s"});
  (void)submit(waiting());
  (void)program(1);
  node_->kill();
  EXPECT_EQ(worker->wait().exit_code, 4);
  EXPECT_TRUE(is_tree_gone(1));
}

TEST_F(AgentProcess, YieldsWhatIsRunningWhenItIsAskedToStop) {
  const auto worker = agent("a", {"--agent-lease", "1h"});
  const std::string id = submit(waiting());
  (void)program(1);
  worker->send_signal(SIGTERM);
  EXPECT_EQ(worker->wait().exit_code, 0);
  EXPECT_TRUE(is_tree_gone(1));
  EXPECT_EQ(text_in(task(id), "state"), "ready");
  EXPECT_THAT(task(id), HasSubstr("TaskYield"));
}

TEST_F(AgentProcess, WaitsForTheProcessesOfItsPredecessor) {
  const auto first = agent("a");
  Process second({HORAE_BINARY, "agent", "run", "--agent-nodes", node_->url(), "--agent-queues", "work",
                  "--agent-token-file", folder_.path() + "/token", "--agent-data", folder_.path() + "/a"});
  EXPECT_TRUE(second.read_until("belongs to the agent with the pid " + std::to_string(first->pid())));
  first->send_signal(SIGTERM);
  EXPECT_TRUE(second.read_until("is running"));
}

TEST_F(AgentProcess, RefusesFreeArgumentsForANodeThatAsksForNoToken) {
  const TemporaryFolder data;
  RunningNode open({"--data", data.path(), "--http-listen", "127.0.0.1:0", "--log-level", "off"});
  std::vector<std::string> command = {HORAE_BINARY,
                                      "agent",
                                      "run",
                                      "--agent-nodes",
                                      open.url(),
                                      "--agent-queues",
                                      "work",
                                      "--agent-data",
                                      data.path() + "/a",
                                      "--agent-programs",
                                      "sh"};
  if (::geteuid() == 0) command.insert(command.end(), {"--agent-user", "root"});
  Process refused(command);
  EXPECT_THAT(refused.read_rest(), HasSubstr("takes tasks from callers without a token"));
  EXPECT_EQ(refused.wait().exit_code, 1);
}

}  // namespace
}  // namespace horae::agent
