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
#include "tests/support/process.h"
#include "tests/support/server_process.h"
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

// It is checked once a second.
bool wait_for_readiness(RunningNode& node, int status) {
  return wait_until([&] { return node.get("/readyz").status == status; });
}

// Expects that a command fails for now, and says why.
void expect_full(const std::vector<std::string>& argv) {
  Process horae(argv);
  EXPECT_THAT(horae.read_rest(), HasSubstr("the disk is full"));
  EXPECT_EQ(horae.wait().exit_code, 4);
}

void start_on_a_full_disk(const std::string& folder) {
  ASSERT_TRUE(has_own_mounts()) << std::strerror(errno);
  const SmallDisk disk(folder);
  ASSERT_TRUE(disk.is_mounted()) << std::strerror(errno);
  const auto flags = [&](const std::string& data) {
    return std::vector<std::string>{"--data", folder + data, "--http-listen", "127.0.0.1:0", "--log-level", "off"};
  };
  RunningNode first(flags("/old"));
  EXPECT_EQ(submit(first, "kept").status, 201);
  EXPECT_THAT(first.stop(), HasSubstr("horae stopped"));
  disk.fill();
  for (const char* data : {"/old", "/new"}) {
    std::vector<std::string> serve = flags(data);
    serve.insert(serve.begin(), {HORAE_BINARY, "serve"});
    expect_full(serve);
    expect_full({HORAE_BINARY, "migrate", "--store", "sqlite:" + folder + data + "/horae.db"});
  }
  disk.make_room();
  RunningNode second(flags("/old"));
  EXPECT_THAT(second.get("/v1/tasks?queue=mail").body, HasSubstr("kept"));
  EXPECT_THAT(second.stop(), HasSubstr("horae stopped"));
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
  EXPECT_TRUE(wait_for_readiness(node, 503));
  EXPECT_THAT(node.get("/readyz").body, AllOf(HasSubstr("the store refuses writes"), HasSubstr("the disk is full")));
  EXPECT_EQ(node.get("/healthz").status, 200);
  EXPECT_EQ(node.get("/v1/tasks/" + acknowledged.back()).status, 200);
  EXPECT_THAT(node.get("/v1/tasks?queue=mail").body, HasSubstr(acknowledged.front()));

  disk.make_room();
  EXPECT_TRUE(wait_for_readiness(node, 200)) << "without a write, so that a load balancer may send some again";
  answer = submit(node, refused);
  EXPECT_EQ(answer.status, 201) << answer.body;
  acknowledged.push_back(text_in(answer.body, "id"));
  for (const std::string& id : acknowledged) {
    EXPECT_THAT(node.get("/v1/tasks/" + id).body, AllOf(HasSubstr(id), HasSubstr(R"("state":"ready")")));
  }
  EXPECT_THAT(node.stop(), HasSubstr("horae stopped"));
}

// In a child process, so that the mount is private.
void run_with_own_mounts(void (*test)(const std::string& folder)) {
  const TemporaryFolder folder;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    test(folder.path());
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the failures of the child process are above";
}

TEST(FullDisk, RefusesNewTasksServesReadsAndRecoversByItself) { run_with_own_mounts(live_through_a_full_disk); }

TEST(FullDisk, AStartIsRefusedWithTheReasonAndMayBeRepeated) { run_with_own_mounts(start_on_a_full_disk); }

}  // namespace
}  // namespace horae::testing
