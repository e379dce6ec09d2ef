// The first command of docs/reference/names.md, exactly as printed, including its port, which is Horae's default. So the node
// runs in a network namespace of its own, in which no port is taken.

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>

#include "tests/e2e/page.h"
#include "tests/e2e/running_node.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

bool is_root() { return ::geteuid() == 0; }

// `command` in a new network namespace; without root, inside a user namespace that makes this user root.
std::vector<std::string> in_new_network(const std::string& command) {
  return {"/usr/bin/unshare", is_root() ? "-n" : "-rn", "/bin/bash", "-c", "ip link set lo up && exec " + command};
}

class NamesPage : public ::testing::Test {
 protected:
  NamesPage() { EXPECT_TRUE(node_.read_until("Stop with")); }
  ~NamesPage() override {
    node_.send_signal(SIGTERM);
    EXPECT_THAT(node_.read_rest(), HasSubstr("horae stopped"));
  }

  // The output of a command in the node's network namespace, which must not fail.
  std::string shell(const std::string& command) const {
    const std::string pid = std::to_string(node_.pid());
    std::vector<std::string> argv = {"/usr/bin/nsenter", "-t", pid, "-n"};
    if (!is_root()) argv.insert(argv.end(), {"-U", "--preserve-credentials"});
    argv.insert(argv.end(), {"/bin/bash", "-c", command});
    Process process(argv);
    std::string said = process.read_rest();
    EXPECT_EQ(process.wait().exit_code, 0) << command << said;
    return said;
  }

  const TemporaryFolder folder_;
  Process node_{in_new_network("'" HORAE_BINARY "' serve --store 'sqlite:" + folder_.path() + "/horae.db'")};
};

TEST_F(NamesPage, TheFirstLineOfTheTaskManagementSystemWorksAsPrinted) {
  const auto blocks = blocks_of("reference/names.md", "sh");
  ASSERT_THAT(blocks, SizeIs(1));
  const std::string reply = shell(blocks[0]);
  EXPECT_THAT(reply, AllOf(HasSubstr(R"("status":"SCHEDULED")"), HasSubstr(R"("command":"5s")")));
  const std::string id = text_in(reply, "id");
  EXPECT_THAT(shell("'" HORAE_BINARY "' task watch " + id), HasSubstr("completed"));
  EXPECT_THAT(shell("curl -sS http://localhost:3369/tasks/" + id), HasSubstr(R"("status":"FINISHED")"));
}

}  // namespace
}  // namespace horae::testing
