// Very many connections to a real node, in a separate process, since client and server need a file for each.

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "http/test_client.h"
#include "tests/e2e/running_node.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

constexpr std::size_t kCrowd = 10'000;
constexpr int kMostTries = 10'000;         // to connect in place of a connection that was closed
constexpr rlim_t kFiles = kCrowd + 1'000;  // for client or server, including its other files

// Raises the limit of open files as far as possible without privileges; the node does the same by itself.
rlim_t raise_limit_of_files() {
  rlimit limit{};
  HORAE_CHECK(::getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit() must work");
  limit.rlim_cur = limit.rlim_max;
  HORAE_CHECK(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "a soft limit may be raised up to the hard limit");
  return limit.rlim_cur;
}

std::size_t resident_bytes(pid_t pid) {
  std::ifstream statm("/proc/" + std::to_string(pid) + "/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

constexpr bool counts_memory_of_sanitizers() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

TEST(Crowd, TenThousandIdleConnectionsCostLittleMemoryAndSlowNoCall) {
  const rlim_t files = raise_limit_of_files();
  if (files < kFiles) GTEST_SKIP() << "the limit of open files is " << files << ", and the test needs " << kFiles;
  const TemporaryFolder folder;
  RunningNode node({"--data", folder.path(), "--http-listen", "127.0.0.1:0", "--http-max-connections",
                    std::to_string(kCrowd + 1), "--http-idle-timeout", "1h", "--log-level", "off"});
  const std::string id = text_in(node.post("/v1/tasks", R"({"queue":"mail","spec":{}})").body, "id");
  const auto port = static_cast<std::uint16_t>(std::stoi(node.url().substr(node.url().rfind(':') + 1)));
  const std::size_t before = resident_bytes(node.process().pid());
  std::vector<TestClient> idle;
  idle.reserve(kCrowd);
  for (std::size_t i = 0; i < kCrowd; ++i) {
    idle.emplace_back(port);
    ASSERT_EQ(idle.back().call("GET", "/healthz").status, 200) << "connection " << i;
  }

  // An earlier client and one of the crowd are served; a further connection is refused.
  EXPECT_EQ(text_in(node.get("/v1/tasks/" + id).body, "id"), id);
  EXPECT_EQ(idle.back().call("GET", "/v1/tasks/" + id).status, 200);
  EXPECT_EQ(TestClient(port).call("GET", "/healthz").status, 503);

  const std::size_t each = (resident_bytes(node.process().pid()) - before) / kCrowd;
  std::printf("%zu idle connections, %zu bytes of the node each\n", kCrowd, each);
  if (!counts_memory_of_sanitizers()) {
    EXPECT_LT(each, 4096U);
  }

  idle.pop_back();
  bool has_room = false;
  for (int i = 0; i < kMostTries && !has_room; ++i) has_room = TestClient(port).call("GET", "/healthz").status == 200;
  EXPECT_TRUE(has_room);
  for (TestClient& client : idle) ASSERT_EQ(client.call("GET", "/healthz").status, 200);
}

}  // namespace
}  // namespace horae::testing
