// A node whose disk is full, as a real process.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/running_node.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Gives this process and its children a private mount namespace, which ends with them. Without root, a user namespace
// gives the permission to mount.
bool has_own_mounts() {
  return ::unshare(::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// A disk of a few megabytes. Needs a private mount namespace.
class SmallDisk {
 public:
  explicit SmallDisk(std::string path) : path_(std::move(path)) {
    is_mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=4m") == 0;
  }

  bool is_mounted() const { return is_mounted_; }
  const std::string& path() const { return path_; }

  // Fills the remaining space; make_room() frees it.
  void fill() const {
    std::ofstream filler(filler_path(), std::ios::binary);
    const std::string page(4096, 'x');
    while (filler.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
  }
  void make_room() const { std::filesystem::remove(filler_path()); }

 private:
  std::string filler_path() const { return path() + "/filler"; }

  const std::string path_;
  bool is_mounted_ = false;
};

NetResponse submit(RunningNode& node, const std::string& key) {
  return node.post("/v1/tasks",
                   fmt::format(R"({{"queue":"mail","key":"{}","spec":"{}"}})", key, std::string(10'000, 'x')));
}

void live_through_a_full_disk(const std::string& folder) {
  ASSERT_TRUE(has_own_mounts()) << std::strerror(errno);
  const SmallDisk disk(folder);
  ASSERT_TRUE(disk.is_mounted()) << std::strerror(errno);
  RunningNode node({"--data", disk.path(), "--http-listen", "127.0.0.1:0", "--log-level", "off"});
  std::vector<std::string> acknowledged;
  for (int i = 0; i < 10; ++i) acknowledged.push_back(text_in(submit(node, std::to_string(i)).body, "id"));

  disk.fill();
  // Space that SQLite has already allocated still holds a few.
  NetResponse answer;
  std::string refused;
  while (acknowledged.size() < 1'000) {
    refused = std::to_string(acknowledged.size());
    answer = submit(node, refused);
    if (answer.status != 201) break;
    acknowledged.push_back(text_in(answer.body, "id"));
  }
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("the disk is full"));
  EXPECT_EQ(answer.header("retry-after"), "1");
  EXPECT_EQ(node.get("/v1/tasks/" + acknowledged.back()).status, 200);
  EXPECT_THAT(node.get("/v1/tasks?queue=mail").body, HasSubstr(acknowledged.front()));

  disk.make_room();
  answer = submit(node, refused);
  EXPECT_EQ(answer.status, 201) << answer.body;
  acknowledged.push_back(text_in(answer.body, "id"));
  for (const std::string& id : acknowledged) {
    EXPECT_THAT(node.get("/v1/tasks/" + id).body, AllOf(HasSubstr(id), HasSubstr(R"("state":"ready")")));
  }
  EXPECT_THAT(node.stop(), HasSubstr("horae stopped"));
}

// In a child process, so that the mount is private.
TEST(FullDisk, RefusesNewTasksServesReadsAndRecoversByItself) {
  const TemporaryFolder folder;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    live_through_a_full_disk(folder.path());
    std::fflush(nullptr);
    ::_exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the failures of the child process are above";
}

}  // namespace
}  // namespace horae::testing
