// docs/start/quickstart.md, the session of README.md and docs/operate/metrics.md, against the real binary. Only the port
// differs.

#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/page.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::regex kId("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

// A command of a printed session, and the output that is printed under it.
struct PrintedCommand {
  std::string command;
  std::string output;
};

// The commands of a ```console block: lines that begin with "$ " are commands.
std::vector<PrintedCommand> commands_of(const std::string& block) {
  std::vector<PrintedCommand> commands;
  std::istringstream lines(block);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("$ ")) {
      commands.push_back({line.substr(2), ""});
    } else if (!commands.empty()) {
      commands.back().output += line + "\n";
    }
  }
  return commands;
}

std::string without_ids(const std::string& text) { return std::regex_replace(text, kId, "ID"); }

class Quickstart : public ::testing::Test {
 protected:
  Quickstart() {
    EXPECT_TRUE(node_.read_until("is running"));
    const auto line = node_.read_line();
    std::smatch found;
    const std::string address = line.value_or("");
    EXPECT_TRUE(std::regex_search(address, found, std::regex("http://127.0.0.1:([0-9]+)"))) << address;
    port_ = found[1];
    EXPECT_TRUE(node_.read_until("Stop with"));
  }
  ~Quickstart() override {
    node_.send_signal(SIGINT);
    EXPECT_THAT(node_.read_rest(), HasSubstr("horae stopped"));
  }

  std::string with_port(const std::string& text) const { return std::regex_replace(text, std::regex("3369"), port_); }

  // The output of a shell block, which must not fail.
  std::string shell(const std::string& block) const {
    const std::string set_up =
        "set -e; export HORAE_NODE=http://127.0.0.1:" + port_ + "; horae() { '" HORAE_BINARY "' \"$@\"; }; ";
    Process process({"/bin/bash", "-c", set_up + with_port(block)});
    std::string said = process.read_rest();
    EXPECT_EQ(process.wait().exit_code, 0) << block << said;
    return said;
  }

  const TemporaryFolder folder_;
  Process node_{
      {HORAE_BINARY, "serve", "--http-listen", "127.0.0.1:0", "--store", "sqlite:" + folder_.path() + "/horae.db"}};
  std::string port_;
};

TEST_F(Quickstart, EachBlockWorksAsPrinted) {
  const auto shells = blocks_of("start/quickstart.md", "sh");
  const auto pythons = blocks_of("start/quickstart.md", "python");
  ASSERT_THAT(shells, SizeIs(4));
  ASSERT_THAT(pythons, SizeIs(1));
  EXPECT_THAT(shell(shells[0]), HasSubstr("\"id\":\""));
  EXPECT_THAT(shell(shells[1]), AllOf(HasSubstr("\"queue\":\"demo\""), HasSubstr("\"as_of\"")));
  EXPECT_THAT(shell(shells[2]), HasSubstr("\"id\":\""));

  Process worker({"/usr/bin/python3", "-c", with_port(pythons[0])});
  EXPECT_TRUE(worker.read_until("a mail to ada@example.org"));
  // The second mail comes only after the completion of the first was accepted.
  shell(shells[2]);
  EXPECT_TRUE(worker.read_until("a mail to ada@example.org"));
  worker.send_signal(SIGKILL);
  (void)worker.wait();
  EXPECT_THAT(shell(shells[1] + "horae task list --queue mail"), HasSubstr("completed"));
  EXPECT_THAT(shell(shells[3]), AllOf(HasSubstr("mail"), HasSubstr("demo")));
}

TEST_F(Quickstart, SessionOfTheReadmeIsWhatTheProgramPrints) {
  const auto blocks = blocks_of("../README.md", "console");
  ASSERT_THAT(blocks, SizeIs(1));
  std::string last_id;  // the printed commands name the task of the command before them
  for (const PrintedCommand& printed : commands_of(blocks[0])) {
    const std::string said = shell(std::regex_replace(printed.command, kId, last_id) + " 2>/dev/null");
    EXPECT_EQ(without_ids(said), without_ids(printed.output)) << printed.command;
    if (std::smatch found; std::regex_search(said, found, kId)) last_id = found[0];
  }
  EXPECT_THAT(shell("horae queue list"), ContainsRegex("mail +1 "));
}

TEST_F(Quickstart, EveryMetricIsDocumented) {
  shell("horae task submit demo --sleep 1ms --wait");
  std::ifstream file(HORAE_SOURCE_DIR "/docs/operate/metrics.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  std::istringstream lines(shell("curl -sS $HORAE_NODE/metrics"));
  int metrics = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# HELP ")) continue;
    const std::string name = line.substr(7, line.find(' ', 7) - 7);
    EXPECT_THAT(page, ContainsRegex("`" + name + "[{`]"));
    ++metrics;
  }
  EXPECT_GT(metrics, 10);
}

}  // namespace
}  // namespace horae::testing
