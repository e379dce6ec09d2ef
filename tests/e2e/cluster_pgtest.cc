// Several nodes on one PostgreSQL, as real processes, and the failure of one.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/waker.h"
#include "tests/e2e/running_node.h"
#include "tests/support/postgres_server.h"

namespace horae::testing {
namespace {

using std::literals::operator""ms;
using std::literals::operator""s;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Polls are long, so that anything that arrives early arrived by a notification.
class Nodes : public ::testing::Test {
 protected:
  std::unique_ptr<RunningNode> start(std::vector<std::string> more = {}) {
    std::vector<std::string> flags = {"--http-listen",
                                      "127.0.0.1:0",
                                      "--store",
                                      url_,
                                      "--postgres-allow-unsafe",
                                      "fsync,full_page_writes,synchronous_commit"};
    flags.insert(flags.end(), more.begin(), more.end());
    return std::make_unique<RunningNode>(flags);
  }

  static void pause() {
    Waker never_woken;
    (void)never_woken.wait(SystemClock().now() + 20ms);
  }

  // Waits until each of them lists `count` nodes.
  static void wait_for_nodes(const std::vector<RunningNode*>& nodes, std::size_t count) {
    for (RunningNode* node : nodes) {
      while (true) {
        const std::string list = node->get("/v1/nodes").body;
        std::size_t found = 0;
        for (std::size_t at = list.find("\"id\""); at != std::string::npos; at = list.find("\"id\"", at + 1)) ++found;
        if (found == count) break;
        pause();
      }
    }
  }

  static std::string submit(RunningNode& node, const std::string& body) {
    const NetResponse answer = node.post("/v1/tasks", body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return text_in(answer.body, "id");
  }

  static std::string completion(const std::string& id, int attempt, const std::string& owner) {
    return fmt::format(R"({{"settlements":[{{"event":"complete","id":"{}","attempt":{},"owner":"{}"}}]}})", id, attempt,
                       owner);
  }

  PostgresServer server_{{.durable = false, .settings = {}}};
  std::string url_ = server_.make_database();
};

TEST_F(Nodes, ListEachOther) {
  const auto one = start();
  const auto two = start();
  const std::string address = two->url().substr(7);
  while (one->get("/v1/nodes").body.find(address) == std::string::npos) pause();
  EXPECT_THAT(two->get("/v1/nodes").body, HasSubstr(one->url().substr(7)));
  two->stop();
  wait_for_nodes({one.get()}, 1);
}

TEST_F(Nodes, ATaskSubmittedAtOneWakesAWorkerThatWaitsAtTheOther) {
  const auto one = start({"--cluster-poll", "2s"});
  const auto two = start({"--cluster-poll", "2s"});
  wait_for_nodes({one.get(), two.get()}, 2);
  auto claimed = std::async(std::launch::async, [&] {
    return two->post("/v1/claim", R"({"owner":"worker-x","queues":["mail"],"wait":"30s"})").body;
  });
  const std::string id = submit(*one, R"({"queue":"mail","spec":{}})");
  EXPECT_THAT(claimed.get(), HasSubstr(id));
}

// A pooler in transaction mode passes no notifications, so this works by polling alone.
TEST_F(Nodes, ATaskSubmittedAtOneReachesAWorkerAtTheOtherBehindPgBouncer) {
  const PgBouncer pooler(server_);
  url_ = pooler.url_of(url_);
  const auto one = start();
  const auto two = start();
  wait_for_nodes({one.get(), two.get()}, 2);
  for (int i = 0; i < 3; ++i) {
    auto claimed = std::async(std::launch::async, [&] {
      return two->post("/v1/claim", R"({"owner":"worker-x","queues":["mail"],"wait":"30s"})").body;
    });
    const std::string id = submit(*one, R"({"queue":"mail","spec":{}})");
    EXPECT_THAT(claimed.get(), HasSubstr(id));
    EXPECT_THAT(one->post("/v1/settle", completion(id, 1, "worker-x")).body, HasSubstr("accepted"));
  }
  EXPECT_THAT(one->stop(), HasSubstr("horae stopped"));
  EXPECT_THAT(two->stop(), HasSubstr("horae stopped"));
}

TEST_F(Nodes, EventsOfOneAreStreamedByTheOther) {
  const auto one = start();
  const auto two = start();
  wait_for_nodes({one.get(), two.get()}, 2);
  constexpr std::string_view kResync = "event: resync\n";
  constexpr std::string_view kTask = R"("state":"ready","queue":"mail"})";
  HttpClient reader;
  std::string received;
  std::size_t scanned = 0;
  // A `resync` means that earlier events may be missing: a node has just begun to listen to the rest, or another node
  // has just learnt that this one has a reader. After the last `resync` every event arrives.
  const auto take = [&](std::string_view piece) {
    received += piece;
    for (std::size_t at = 0; (at = received.find(kResync, scanned)) != std::string::npos;) {
      scanned = at + kResync.size();
      submit(*one, R"({"queue":"mail","spec":{}})");
    }
    return received.find(kTask) == std::string::npos;
  };
  (void)reader.send({.url = two->url() + "/v1/events", .timeout = 30s, .take = take});
  EXPECT_THAT(received, HasSubstr(std::string(kTask)));
}

TEST_F(Nodes, ExplainWhyATaskWaits) {
  const auto node = start();
  const std::string id = submit(*node, R"({"queue":"mail","spec":{}})");
  const std::string path = "/v1/tasks/" + id + "/explain";
  EXPECT_THAT(node->get(path).body, HasSubstr("no_worker"));
  EXPECT_EQ(node->post("/v1/queues/mail/pause").status, 200);
  EXPECT_THAT(node->get(path).body, HasSubstr("queue_paused"));
  EXPECT_EQ(node->post("/v1/scheduler/stop").status, 200);
  EXPECT_THAT(node->get(path).body, HasSubstr("scheduler_stopped"));
}

TEST_F(Nodes, EnforceRolesAndQueuesOfTokens) {
  const auto one = start();
  const auto two = start({"--http-require-token", "true"});
  wait_for_nodes({one.get()}, 2);
  EXPECT_EQ(two->get("/v1/tasks").status, 401);
  const NetResponse made = one->post("/v1/tokens", R"({"name":"build","role":"submit","queues":["mail.*"]})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string token = text_in(made.body, "secret");
  // The other node learns of the token at its next poll.
  while (two->call("GET", "/v1/queues", "", token).status == 401) pause();
  EXPECT_EQ(two->call("POST", "/v1/tasks", R"({"queue":"mail.a","spec":{}})", token).status, 201);
  EXPECT_EQ(two->call("POST", "/v1/tasks", R"({"queue":"other","spec":{}})", token).status, 403);
  EXPECT_EQ(two->call("POST", "/v1/claim", R"({"owner":"w","queues":["mail.a"]})", token).status, 403);
  const std::string hidden = submit(*one, R"({"queue":"other","spec":{}})");
  EXPECT_EQ(two->call("GET", "/v1/tasks/" + hidden, "", token).status, 404);
  EXPECT_EQ(two->call("POST", "/v1/tasks/" + hidden + "/cancel", "", token).status, 404);
  EXPECT_THAT(two->call("GET", "/v1/tasks", "", token).body, AllOf(HasSubstr("mail.a"), Not(HasSubstr("other"))));
  EXPECT_EQ(one->call("DELETE", "/v1/tokens/" + text_in(made.body, "id")).status, 204);
  while (two->call("GET", "/v1/queues", "", token).status != 401) pause();
}

// Without the end by the node, both calls would last for their 30 s.
TEST_F(Nodes, WhatARevokedTokenHasOpenAtTheOtherNodeEnds) {
  const auto one = start();
  const auto two = start({"--slots-count", "0"});  // only the worker of this test waits there
  wait_for_nodes({one.get(), two.get()}, 2);
  const NetResponse made = one->post("/v1/tokens", R"({"name":"worker","role":"work","queues":["mail"]})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string token = text_in(made.body, "secret");
  while (two->call("GET", "/v1/queues", "", token).status == 401) pause();

  const std::vector<NetHeader> headers = {{"Authorization", "Bearer " + token}, {"Content-Type", "application/json"}};
  std::promise<void> begun;
  auto streamed = std::async(std::launch::async, [&, url = two->url() + "/v1/events"] {
    bool is_first = true;
    return HttpClient().send({.url = url, .headers = headers, .take = [&](std::string_view) {
                                if (std::exchange(is_first, false)) begun.set_value();
                                return true;
                              }});
  });
  auto claimed = std::async(std::launch::async, [&, url = two->url() + "/v1/claim"] {
    return HttpClient().send({.method = "POST",
                              .url = url,
                              .headers = headers,
                              .body = R"({"owner":"worker-x","queues":["mail"],"wait":"30s"})"});
  });
  begun.get_future().wait();
  while (two->get("/v1/scheduler").body.find(R"("waiting_workers":1)") == std::string::npos) pause();

  ASSERT_EQ(one->call("DELETE", "/v1/tokens/" + text_in(made.body, "id")).status, 204);
  const auto claim = claimed.get();
  ASSERT_TRUE(claim.ok()) << claim.error().message;
  EXPECT_EQ(claim->status, 401);
  const auto stream = streamed.get();
  EXPECT_TRUE(stream.ok()) << stream.error().message;
  const std::string id = submit(*one, R"({"queue":"mail","spec":{}})");
  EXPECT_THAT(one->get("/v1/tasks/" + id).body, HasSubstr(R"("state":"ready")"));
}

TEST_F(Nodes, TakeOverTheTasksOfAKilledNode) {
  auto one = start({"--slots-queues", "work", "--slots-lease", "1s"});
  const auto two = start({"--monitor-poll", "100ms"});
  const std::string id = submit(*one, R"({"queue":"work","spec":{"run":"sleep","for":"1h"}})");
  while (two->get("/v1/tasks/" + id).body.find(R"("state":"running")") == std::string::npos) pause();
  one->kill();
  const std::string claimed = two->post("/v1/claim", R"({"owner":"worker-x","queues":["work"],"wait":"30s"})").body;
  EXPECT_THAT(claimed, AllOf(HasSubstr(id), HasSubstr(R"("attempt":2)")));
  EXPECT_THAT(two->post("/v1/settle", completion(id, 2, "worker-x")).body, HasSubstr("accepted"));
}

}  // namespace
}  // namespace horae::testing
