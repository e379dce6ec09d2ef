// A node whose disk is full, as a real process.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/e2e/running_node.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A disk of a few megabytes that is gone when the test is, also when it fails.
class SmallDisk {
 public:
  SmallDisk() : is_mounted_(::mount("tmpfs", path().c_str(), "tmpfs", 0, "size=4m") == 0), error_(errno) {}
  ~SmallDisk() {
    // Lazily, since a node that still runs would keep it busy; the kernel frees it with the last open file.
    if (is_mounted_) ::umount2(path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool is_mounted() const { return is_mounted_; }
  std::string why_not() const { return std::strerror(error_); }
  const std::string& path() const { return folder_.path(); }

  // Takes what room is left, and gives it back.
  void fill() const {
    std::ofstream filler(filler_path(), std::ios::binary);
    const std::string page(4096, 'x');
    while (filler.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
  }
  void make_room() const { std::filesystem::remove(filler_path()); }

 private:
  std::string filler_path() const { return path() + "/filler"; }

  const TemporaryFolder folder_;
  const bool is_mounted_;
  const int error_;
};

NetResponse submit(RunningNode& node, const std::string& key) {
  return node.post("/v1/tasks",
                   fmt::format(R"({{"queue":"mail","key":"{}","spec":"{}"}})", key, std::string(10'000, 'x')));
}

TEST(FullDisk, RefusesNewWorkShowsTheOldAndRecoversByItself) {
  const SmallDisk disk;
  if (!disk.is_mounted()) GTEST_SKIP() << "a small disk cannot be mounted here: " << disk.why_not();
  RunningNode node({"--data", disk.path(), "--http-listen", "127.0.0.1:0", "--log-level", "off"});
  std::vector<std::string> acknowledged;
  for (int i = 0; i < 10; ++i) acknowledged.push_back(text_in(submit(node, std::to_string(i)).body, "id"));

  disk.fill();
  // What SQLite has reserved already still takes a few.
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

}  // namespace
}  // namespace horae::testing
