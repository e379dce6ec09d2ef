#include "agent/processes/warden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/agent/test_agent.h"

namespace horae::agent {
namespace {

using horae::testing::wait_until;
using testing::is_gone;
using testing::OneRun;
using testing::pid_in;
using testing::shell;
using testing::stubborn;
using testing::TestAgent;

// A run whose program waits, and which has left a stubborn process.
class Stubborn {
 public:
  Stubborn() : run_(shell(stubborn(left_file()) + "echo $$ > " + program_file() + "; sleep 1000")) {
    left_ = pid_in(left_file());
    program_ = pid_in(program_file());
    shim_ = testing::parent_of(program_);
  }

  OneRun& run() { return run_; }
  pid_t shim() const { return shim_; }
  pid_t program() const { return program_; }
  bool is_all_gone() const { return is_gone(left_) && is_gone(program_) && is_gone(shim_); }

 private:
  std::string left_file() const { return files_.path() + "/left"; }
  std::string program_file() const { return files_.path() + "/program"; }

  horae::testing::TemporaryFolder files_;
  OneRun run_;
  pid_t left_ = 0;
  pid_t program_ = 0;
  pid_t shim_ = 0;
};

TEST(Warden, ReturnsTheExitCodeOfMain) {
  TestAgent agent([](const ProcessStarter&, int, int) { return 7; });
  EXPECT_EQ(WEXITSTATUS(agent.wait()), 7);
}

TEST(Warden, PassesSignalsToMain) {
  TestAgent agent([](const ProcessStarter&, int, int output) {
    testing::write_line(output, "ready");
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    int signal = 0;
    ::sigwait(&set, &signal);
    return signal == SIGTERM ? 5 : 1;
  });
  EXPECT_EQ(agent.read_line(), "ready");
  ::kill(agent.warden(), SIGTERM);
  EXPECT_EQ(WEXITSTATUS(agent.wait()), 5);
}

TEST(Warden, EndsAllProcessesWhenMainIsKilled) {
  Stubborn left;
  pid_t main = 0;
  for (const pid_t pid : {left.shim()}) EXPECT_EQ(testing::parent_of(pid), left.run().agent().warden());
  const std::string children = testing::content_of("/proc/" + std::to_string(left.run().agent().warden()) + "/task/" +
                                                   std::to_string(left.run().agent().warden()) + "/children");
  main = std::stoi(children);
  ASSERT_NE(main, left.shim());
  ::kill(main, SIGKILL);
  EXPECT_EQ(WEXITSTATUS(left.run().agent().wait()), 128 + SIGKILL);
  EXPECT_TRUE(left.is_all_gone());  // the warden ends last
}

TEST(Warden, LeavesNoProcessWhenItIsKilled) {
  Stubborn left;
  ::kill(left.run().agent().warden(), SIGKILL);
  EXPECT_TRUE(wait_until([&] { return left.is_all_gone(); }));
}

TEST(Warden, KillsWhatAKilledShimLeaves) {
  Stubborn left;
  ::kill(left.shim(), SIGKILL);
  EXPECT_EQ(left.run().end(), "stopped - -");  // although nothing has stopped it: the run is lost
  EXPECT_TRUE(wait_until([&] { return left.is_all_gone(); }));
  EXPECT_FALSE(is_gone(left.run().agent().warden()));
}

TEST(Warden, KillsWhatAStoppedShimCannotKillWhenMainEnds) {
  Stubborn left;
  ::kill(left.shim(), SIGSTOP);
  const std::string children = testing::content_of("/proc/" + std::to_string(left.run().agent().warden()) + "/task/" +
                                                   std::to_string(left.run().agent().warden()) + "/children");
  ::kill(std::stoi(children), SIGKILL);
  (void)left.run().agent().wait();
  EXPECT_TRUE(left.is_all_gone());
}

}  // namespace
}  // namespace horae::agent
