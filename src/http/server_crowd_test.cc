// Many connections, and a process without free file descriptors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include "http/test_client.h"
#include "http/test_server.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Changes the limit of open files of this process, for a while.
class FileLimit {
 public:
  FileLimit() { HORAE_CHECK(::getrlimit(RLIMIT_NOFILE, &before_) == 0, "a process has limits"); }
  ~FileLimit() { set(before_.rlim_cur); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

  void set(rlim_t files) const {
    const rlimit changed{.rlim_cur = files, .rlim_max = before_.rlim_max};
    HORAE_CHECK(::setrlimit(RLIMIT_NOFILE, &changed) == 0, "a limit can be moved below the hard one");
  }
  rlim_t before() const { return before_.rlim_cur; }
  rlim_t most() const { return before_.rlim_max; }

 private:
  rlimit before_{};
};

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

bool counts_memory_of_sanitizers() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

TEST(HttpServerCrowd, WithoutFreeDescriptorsOpenConnectionsAreServedAndNewOnesWait) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan opens files to identify objects, and reports valid ones as invalid without";
#endif
  TestServer server(echo);
  TestClient old(server.port());  // on the thread that accepts
  EXPECT_EQ(old.call("GET", "/1").status, 200);
  TestClient fresh;
  const FileLimit limit;
  limit.set(3);  // what is open stays open; nothing can be added, because three are always open
  fresh.connect(server.port());
  ASSERT_TRUE(fresh.send(request_text("GET", "/fresh")));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(old.call("GET", "/2").status, 200);
  EXPECT_EQ(server->connections(), 1U);
  limit.set(limit.before());
  EXPECT_EQ(fresh.receive()->body, "/fresh");
  server.stop();
  EXPECT_THAT(server.said(),
              AllOf(HasSubstr("cannot accept connections at present"), HasSubstr("accepting connections again")));
}

TEST(HttpServerCrowd, ThousandsOfIdleConnectionsCostLittleMemory) {
  const FileLimit limit;
  limit.set(limit.most());
  const std::size_t count = std::min<std::size_t>(5'000, limit.most() / 2 - 100);
  HttpServerOptions options{.listen = {"127.0.0.1:0"}};
  options.limits.connections = count + 10;
  TestServer server(echo, options);
  EXPECT_EQ(TestClient(server.port()).call("GET", "/").status, 200);
  std::vector<TestClient> clients;
  clients.reserve(count);
  const std::size_t before = resident_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    clients.emplace_back(server.port());
    ASSERT_EQ(clients.back().call("GET", "/").status, 200);
  }
  EXPECT_EQ(TestClient(server.port()).call("GET", "/one-more").body, "/one-more");
  const std::size_t each = (resident_bytes() - before) / count;
  std::printf("%zu idle connections, %zu bytes each, with those of the client\n", count, each);
  if (!counts_memory_of_sanitizers()) {
    EXPECT_LT(each, 4096U);
  }
}

}  // namespace
}  // namespace horae::testing
