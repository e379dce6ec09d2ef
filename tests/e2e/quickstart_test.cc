// docs/quickstart.md, block by block, against the real binary. Only the port differs.

#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <regex>

#include "tests/e2e/page.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class Quickstart : public ::testing::Test {
 protected:
  Quickstart() {
    EXPECT_TRUE(node_.read_until("is running"));
    const auto line = node_.read_line();
    std::smatch found;
    const std::string address = line.value_or("");
    EXPECT_TRUE(std::regex_search(address, found, std::regex("http://127.0.0.1:([0-9]+)"))) << address;
    port_ = found[1];
    EXPECT_TRUE(node_.read_until("Stop it with"));
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
  const auto shells = blocks_of("quickstart.md", "sh");
  const auto pythons = blocks_of("quickstart.md", "python");
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

}  // namespace
}  // namespace horae::testing
