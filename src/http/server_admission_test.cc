// What strangers may have, and what is kept for known callers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "http/test_client.h"
#include "http/test_server.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::string_view kKnown = "X-Known: yes\r\n";

HttpServerOptions strict() { return {.listen = {"127.0.0.1:0"}, .trusts_local = false, .threads = 1}; }

// Knows callers with a header, and refuses the others before their body is read, unless the path is open.
class Hall {
 public:
  explicit Hall(const HttpServerOptions& options, const Clock* clock = nullptr,
                std::shared_ptr<CallerShare> share = nullptr)
      : server_([this](const HttpRequest& request, const Responder& responder) { answer(request, responder); }, options,
                clock, no_meter(), [share](const HttpRequest& head) { return admit(head, share); }) {}

  TestServer& server() { return server_; }
  HttpServer* operator->() { return &*server_.operator->(); }
  int bytes_of_refused() const { return bytes_of_refused_; }

  TestClient connect(const std::string& from = "127.0.0.1") const {
    TestClient client;
    client.come_from(from);
    client.connect(server_.port());
    return client;
  }

  // A connection that the server has accepted.
  TestClient connect_stranger(const std::string& from = "127.0.0.1") {
    const std::size_t before = server_->connections();
    TestClient client = connect(from);
    while (server_->connections() == before) std::this_thread::yield();
    EXPECT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n"));
    return client;
  }

  int call_known(TestClient& client, std::string_view body = {}) const {
    return client.call("POST", "/", body, kKnown).status;
  }

 private:
  static Admission admit(const HttpRequest& head, const std::shared_ptr<CallerShare>& share) {
    const bool is_known = !head.header("X-Known").empty();
    return {.is_known = is_known,
            .reads_body = is_known && head.path != "/forbidden",
            .share = share,
            .admitted = is_known ? std::make_shared<int>(1) : nullptr};
  }

  void answer(const HttpRequest& request, const Responder& responder) {
    if (request.path == "/open") return responder.answer({.body = "open"});
    if (request.admitted && request.path != "/forbidden") return responder.answer({.body = request.path});
    bytes_of_refused_ += static_cast<int>(request.body.size());
    responder.answer({.status = request.admitted ? 403 : 401, .body = "{}"});
  }

  std::atomic<int> bytes_of_refused_ = 0;
  TestServer server_;
};

// ---- Bodies ----

TEST(HttpAdmission, ABodyWithoutARightIsRefusedBeforeItArrives) {
  Hall hall(strict());
  for (const std::string_view known : {std::string_view(), kKnown}) {
    for (const std::string end : {"Content-Length: 1000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n",
                                  "Expect: 100-continue\r\nContent-Length: 1000000\r\n\r\n"}) {
      TestClient client = hall.connect();
      ASSERT_TRUE(client.send("POST /forbidden HTTP/1.1\r\nHost: x\r\n" + std::string(known) + end));
      const auto refused = client.receive();
      ASSERT_TRUE(refused.has_value());
      EXPECT_EQ(refused->status, known.empty() ? 401 : 403);
      EXPECT_EQ(refused->headers.at("connection"), "close");
      (void)client.send(std::string(1000, 'x'));
      EXPECT_TRUE(client.is_closed_by_server());
    }
  }
  EXPECT_EQ(hall.bytes_of_refused(), 0);
}

TEST(HttpAdmission, ARefusedRequestWhoseBodyIsHereKeepsTheConnection) {
  Hall hall(strict());
  TestClient client = hall.connect();
  EXPECT_EQ(client.call("POST", "/", "a small body").status, 401);
  EXPECT_EQ(client.call("GET", "/").status, 401);
  EXPECT_EQ(hall.call_known(client, "a small body"), 200);
}

// ---- Connections ----

TEST(HttpAdmission, TheOldestStrangerGoesWhenStrangersHaveTheirShare) {
  HttpServerOptions options = strict();
  options.limits.connections = 8;  // 6 of them for strangers
  Hall hall(options);
  TestClient known = hall.connect();
  EXPECT_EQ(hall.call_known(known), 200);
  EXPECT_EQ(hall->strangers(), 0U);
  std::vector<TestClient> strangers;
  for (int i = 0; i < 6; ++i) strangers.push_back(hall.connect_stranger());
  TestClient fresh = hall.connect();
  EXPECT_EQ(hall.call_known(fresh), 200);
  EXPECT_TRUE(strangers[0].is_closed_by_server());
  EXPECT_EQ(hall.call_known(known), 200);
  ASSERT_TRUE(strangers[1].send("\r\n"));
  EXPECT_EQ(strangers[1].receive()->status, 401) << "the others stay";
}

TEST(HttpAdmission, AStrangerMakesRoomWhenAllConnectionsAreTaken) {
  HttpServerOptions options = strict();
  options.limits.connections = 4;
  Hall hall(options);
  std::vector<TestClient> known;
  for (int i = 0; i < 3; ++i) {
    known.push_back(hall.connect());
    EXPECT_EQ(hall.call_known(known.back()), 200);
  }
  TestClient stranger = hall.connect_stranger();
  TestClient fourth = hall.connect();
  EXPECT_EQ(hall.call_known(fourth), 200);
  EXPECT_TRUE(stranger.is_closed_by_server());
  for (TestClient& client : known) EXPECT_EQ(hall.call_known(client), 200);
  TestClient fifth = hall.connect();
  EXPECT_EQ(fifth.receive()->status, 503);
}

TEST(HttpAdmission, ConnectionsOfACallerBeyondItsShareCountAsThoseOfStrangers) {
  HttpServerOptions options = strict();
  options.limits.connections = 8;
  const auto share = std::make_shared<CallerShare>(CallerLimits{.connections = 2});
  Hall hall(options, nullptr, share);
  std::vector<TestClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(hall.connect());
    EXPECT_EQ(hall.call_known(clients.back()), 200);
  }
  EXPECT_EQ(hall->strangers(), 1U);
  EXPECT_EQ(share->connections.held(), 2U);
  EXPECT_EQ(hall.call_known(clients[2]), 200) << "it is served as the others are";
  clients.clear();
  while (hall->connections() != 0) std::this_thread::yield();
  EXPECT_EQ(hall->strangers(), 0U);
  EXPECT_EQ(share->connections.held(), 0U);
}

TEST(HttpAdmission, AConnectionBelongsToTheCallerOfItsLastRequest) {
  Hall hall(strict());
  TestClient client = hall.connect();
  EXPECT_EQ(hall.call_known(client), 200);
  EXPECT_EQ(hall->strangers(), 0U);
  EXPECT_EQ(client.call("GET", "/").status, 401);
  EXPECT_EQ(hall->strangers(), 1U);
  EXPECT_EQ(hall.call_known(client), 200);
  EXPECT_EQ(hall->strangers(), 0U);
}

TEST(HttpAdmission, LocalCallersMayBeKnownFromTheBeginning) {
  HttpServerOptions options = strict();
  options.trusts_local = true;
  options.limits.connections = 4;
  options.limits.peers = {.connections = 1, .stranger_requests = 1};
  Hall hall(options);
  std::vector<TestClient> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(hall.connect_stranger());
    ASSERT_TRUE(clients.back().send("\r\n"));
    EXPECT_EQ(clients.back().receive()->status, 401);
  }
  EXPECT_EQ(hall->strangers(), 0U);
}

// ---- Peers ----

TEST(HttpAdmission, LimitsTheConnectionsOfOneAddress) {
  HttpServerOptions options = strict();
  options.limits.peers.connections = 2;
  Hall hall(options);
  std::vector<TestClient> strangers;
  for (int i = 0; i < 2; ++i) strangers.push_back(hall.connect_stranger("127.0.0.2"));
  TestClient third = hall.connect("127.0.0.2");
  const auto refused = third.receive();
  EXPECT_EQ(refused->status, 503);
  EXPECT_THAT(refused->body, HasSubstr("limit of 2 connections from one address"));
  TestClient other = hall.connect();
  EXPECT_EQ(hall.call_known(other), 200);
  strangers.clear();
  third.close();
  while (hall->connections() != 1) std::this_thread::yield();
  TestClient later = hall.connect("127.0.0.2");
  EXPECT_EQ(hall.call_known(later), 200);
}

TEST(HttpAdmission, LimitsTheRequestsOfStrangersAtOneAddress) {
  HttpServerOptions options = strict();
  options.limits.peers.stranger_requests = 5;
  const ManualClock clock;
  Hall hall(options, &clock);
  TestClient known = hall.connect("127.0.0.2");
  for (int i = 0; i < 10; ++i) {
    TestClient stranger = hall.connect("127.0.0.2");
    EXPECT_EQ(stranger.call("GET", "/open").status, 200);
  }
  TestClient stranger = hall.connect("127.0.0.2");
  const auto refused = stranger.call("GET", "/open");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_TRUE(stranger.is_closed_by_server());
  EXPECT_EQ(hall.call_known(known), 200) << "also at that address";
  TestClient other = hall.connect();
  EXPECT_EQ(other.call("GET", "/open").status, 200);
}

// ---- Bytes ----

TEST(HttpAdmission, StrangersHoldAShareOfTheBytes) {
  HttpServerOptions options = strict();
  options.limits.bytes_in_flight = 800'000;  // 100,000 of them for strangers
  Hall hall(options);
  TestClient known = hall.connect();
  EXPECT_EQ(hall.call_known(known), 200);
  const std::string half_a_head = "GET / HTTP/1.1\r\nX-Long: " + std::string(10'000, 'x');
  std::vector<TestClient> strangers;
  for (int i = 0; i < 10; ++i) {
    strangers.push_back(hall.connect("127.0.0.2"));
    ASSERT_TRUE(strangers.back().send(half_a_head));
  }
  while (hall->bytes_in_flight() < 100'000) std::this_thread::yield();
  TestClient one_more = hall.connect("127.0.0.2");
  ASSERT_TRUE(one_more.send(half_a_head));
  EXPECT_EQ(one_more.receive()->status, 503);
  EXPECT_EQ(hall.call_known(known, std::string(500'000, 'x')), 200);
  TestClient fresh = hall.connect();
  EXPECT_EQ(hall.call_known(fresh, std::string(500'000, 'x')), 200) << "a head that arrives at once is not held";
}

TEST(HttpAdmission, ACallerHoldsAtMostItsShareOfTheBytes) {
  const auto share = std::make_shared<CallerShare>(CallerLimits{.bytes = 50'000});
  Hall hall(strict(), nullptr, share);
  TestClient first = hall.connect();
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n" + std::string(kKnown) + "Content-Length: 60000\r\n\r\n";
  ASSERT_TRUE(first.send(head));
  while (share->bytes.held() < 60'000) std::this_thread::yield();
  TestClient second = hall.connect();
  ASSERT_TRUE(second.send(head));
  const auto refused = second.receive();
  EXPECT_EQ(refused->status, 503);
  EXPECT_THAT(refused->body, HasSubstr("this caller hold its limit of 50000 bytes"));
  ASSERT_TRUE(first.send(std::string(60'000, 'x')));
  EXPECT_EQ(first.receive()->status, 200);
  while (share->bytes.held() != 0) std::this_thread::yield();
}

// ---- Streams ----

TEST(HttpAdmission, ACallerHasAShareOfTheStreams) {
  class Silent final : public BodyStream {
   public:
    std::string next() override { return {}; }
  };
  const auto share = std::make_shared<CallerShare>(CallerLimits{.streams = 1});
  TestServer server(
      [](const HttpRequest&, const Responder& responder) {
        responder.stream({.content_type = "text/event-stream"}, std::make_shared<Silent>());
      },
      strict(), nullptr, no_meter(),
      [share](const HttpRequest& head) {
        return Admission{.share = head.header("X-Known").empty() ? nullptr : share};
      });
  const auto open = [&](std::string_view headers) {
    TestClient client(server.port());
    EXPECT_TRUE(client.send(request_text("GET", "/events", {}, headers)));
    return client;
  };
  TestClient first = open(kKnown);
  EXPECT_EQ(first.receive(true)->status, 200);
  TestClient second = open(kKnown);
  EXPECT_EQ(second.receive()->status, 503);
  TestClient other = open({});
  EXPECT_EQ(other.receive(true)->status, 200);
  first.close();
  while (share->streams.held() != 0) std::this_thread::yield();
  TestClient third = open(kKnown);
  EXPECT_EQ(third.receive(true)->status, 200);
}

}  // namespace
}  // namespace horae::testing
