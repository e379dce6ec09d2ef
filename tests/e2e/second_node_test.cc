// A second node on the same SQLite file, under whatever name.

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "tests/e2e/running_node.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;

TEST(SecondNode, IsRefusedOnALinkToTheDatabaseOfAnotherOne) {
  const TemporaryFolder folder;
  const std::string database = folder.path() + "/horae.db";
  RunningNode first({"--store", "sqlite:" + database, "--http-listen", "127.0.0.1:0", "--log-level", "off"});
  std::filesystem::create_directory(folder.path() + "/elsewhere");
  const std::string soft = folder.path() + "/elsewhere/soft.db";
  const std::string hard = folder.path() + "/elsewhere/hard.db";
  std::filesystem::create_symlink(database, soft);
  std::filesystem::create_hard_link(database, hard);
  for (const std::string& name : {database, soft, hard}) {
    Process second({HORAE_BINARY, "serve", "--store", "sqlite:" + name, "--http-listen", "127.0.0.1:0"});
    EXPECT_THAT(second.read_rest(), HasSubstr("already runs on this")) << name;
    EXPECT_EQ(second.wait().exit_code, 1);
    EXPECT_EQ(first.post("/v1/tasks", R"({"queue":"mail","spec":{}})").status, 201);
  }
  EXPECT_THAT(first.stop(), HasSubstr("horae stopped"));
}

}  // namespace
}  // namespace horae::testing
