// PostgreSQL fails under load, and comes back or is replaced by its standby.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "base/clock.h"
#include "base/waker.h"
#include "tests/e2e/load.h"
#include "tests/e2e/running_node.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"

namespace horae::testing {
namespace {

using std::literals::operator""s;

constexpr std::size_t kSome = 100;  // tasks, to see that work continues

// Two nodes on one store, under load. They log nothing: no thread reads the pipe, and a full pipe would block a node.
struct LoadedNodes {
  explicit LoadedNodes(const std::string& url) : one(flags(url)), two(flags(url)) { load.start(); }

  static std::vector<std::string> flags(const std::string& url) {
    return {"--store",     url,   "--postgres-allow-unsafe", "fsync,full_page_writes,synchronous_commit",
            "--log-level", "off", "--http-listen",           "127.0.0.1:0"};
  }

  // Waits until /readyz of both nodes has that status.
  void wait_for_readiness(int status) {
    EXPECT_TRUE(wait_until([&] { return one.get("/readyz").status == status; }));
    EXPECT_TRUE(wait_until([&] { return two.get("/readyz").status == status; }));
  }

  RunningNode one;
  RunningNode two;
  Load load{{one.url(), two.url()}};
};

// The outage takes three times as long as the leases of the held tasks.
TEST(Outage, ThirtySecondsCostNoTaskAndNoAttempt) {
  PostgresServer server({.durable = false, .settings = {}});
  LoadedNodes nodes(server.url());
  ASSERT_TRUE(nodes.load.wait_for_completions(kSome));

  server.stop();
  nodes.wait_for_readiness(503);
  Waker never_woken;
  (void)never_woken.wait(SystemClock().now() + 30s);
  nodes.wait_for_readiness(503);
  EXPECT_EQ(nodes.one.get("/healthz").status, 200);
  server.start();
  nodes.wait_for_readiness(200);

  EXPECT_TRUE(nodes.load.wait_for_completions(kSome));
  EXPECT_TRUE(nodes.load.finish());
  const LoadReport report = nodes.load.report();
  EXPECT_GT(report.refusals, 0U);
  expect_each_ended_once(report, nodes.two);
}

// The URL of the nodes names both servers, as docs/operate/failures.md recommends.
TEST(Outage, EndsWhenTheStandbyIsPromoted) {
  PostgresServer primary;
  const auto standby = primary.make_standby(true);
  LoadedNodes nodes(fmt::format("postgresql://horae@127.0.0.1:{},127.0.0.1:{}/horae?target_session_attrs=read-write",
                                primary.port(), standby->port()));
  ASSERT_TRUE(nodes.load.wait_for_completions(kSome));

  primary.kill_hard();
  nodes.wait_for_readiness(503);
  standby->promote();
  nodes.wait_for_readiness(200);

  EXPECT_TRUE(nodes.load.wait_for_completions(kSome));
  EXPECT_TRUE(nodes.load.finish());
  const LoadReport report = nodes.load.report();
  EXPECT_GT(report.refusals, 0U);
  expect_each_ended_once(report, nodes.two);
}

}  // namespace
}  // namespace horae::testing
