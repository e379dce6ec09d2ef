// Requests that are too large, too slow, too many or not HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bounded_queue.h"
#include "http/test_client.h"
#include "http/test_server.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Checks deadlines often; they pass only when the test advances the clock.
class HttpServerDeadlines : public ::testing::Test {
 protected:
  static HttpServerOptions options() {
    HttpServerOptions options{.listen = {"127.0.0.1:0"}};
    options.limits.sweep = 1ms;
    return options;
  }

  // Events on any connection have been handled once later requests on each thread have been answered.
  void wait_until_read() {
    for (int i = 0; i < 4; ++i) (void)TestClient(server_.port()).call("GET", "/");
  }

  ManualClock clock_;
  TestServer server_{echo, options(), &clock_};
};

void expect_problem(const std::optional<TestResponse>& response, int status, const std::string& name) {
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, status);
  EXPECT_EQ(response->headers.at("content-type"), "application/problem+json");
  EXPECT_EQ(response->headers.at("connection"), "close");
  EXPECT_THAT(response->body, HasSubstr("\"type\":\"urn:horae:problem:" + name + "\""));
}

TEST_F(HttpServerDeadlines, LimitsTheTimeForTheWholeHead) {
  TestClient client(server_.port());
  ASSERT_TRUE(client.send("GET / HT"));
  wait_until_read();
  for (int i = 0; i < 4; ++i) {
    clock_.advance(2s);
    ASSERT_TRUE(client.send("T"));
    wait_until_read();
  }
  clock_.advance(2s);
  expect_problem(client.receive(), 408, "too_slow");
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST_F(HttpServerDeadlines, LimitsTheTimeForTheWholeBody) {
  TestClient client(server_.port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n"));
  wait_until_read();
  for (int i = 0; i < 5; ++i) {
    clock_.advance(5s);
    ASSERT_TRUE(client.send("x"));
    wait_until_read();
  }
  clock_.advance(5s);
  expect_problem(client.receive(), 408, "too_slow");
}

TEST_F(HttpServerDeadlines, ClosesAnIdleConnectionSilently) {
  TestClient client(server_.port());
  EXPECT_EQ(client.call("GET", "/").status, 200);
  wait_until_read();
  clock_.advance(74s);
  EXPECT_EQ(client.call("GET", "/").status, 200);
  wait_until_read();
  clock_.advance(75s);
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST_F(HttpServerDeadlines, ClosesAConnectionWithoutARequest) {
  TestClient client(server_.port());
  wait_until_read();
  clock_.advance(10s);
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST_F(HttpServerDeadlines, ClosesARefusedClientThatKeepsSending) {
  TestClient client(server_.port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\nxxxx"));
  expect_problem(client.receive(), 413, "body_too_large");
  ASSERT_TRUE(client.send("xxxx"));
  EXPECT_EQ(server_->connections(), 1U);
  clock_.advance(2s);
  client.finish_sending();  // or the sweep: whichever is first ends it
  while (server_->connections() != 0) std::this_thread::yield();
}

TEST(HttpServerLimits, RefusesABodyThatIsTooLarge) {
  TestServer server(echo);
  const std::size_t limit = HttpLimits().body_bytes;
  EXPECT_EQ(TestClient(server.port()).call("POST", "/", std::string(limit, 'x')).status, 200);
  TestClient client(server.port());
  EXPECT_TRUE(client.send(request_text("POST", "/", std::string(limit + 1, 'x'))));
  expect_problem(client.receive(), 413, "body_too_large");
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST(HttpServerLimits, RefusesAChunkedBodyThatGrowsTooLarge) {
  TestServer server(echo);
  TestClient client(server.port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::size_t chunks = HttpLimits().body_bytes / 0x10000 + 1;
  for (std::size_t i = 0; i < chunks; ++i) (void)client.send("10000\r\n" + std::string(0x10000, 'x') + "\r\n");
  expect_problem(client.receive(), 413, "body_too_large");
}

TEST(HttpServerLimits, RefusesABodyAnnouncedTooLargeWithoutReadingIt) {
  TestServer server(echo);
  TestClient client(server.port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n"));
  expect_problem(client.receive(), 413, "body_too_large");
}

TEST(HttpServerLimits, RefusesALongTarget) {
  TestServer server(echo);
  EXPECT_EQ(TestClient(server.port()).call("GET", "/" + std::string(8191, 'a')).status, 200);
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/" + std::string(8192, 'a'))));
  expect_problem(client.receive(), 414, "target_too_long");
  TestClient endless(server.port());
  ASSERT_TRUE(endless.send("GET /" + std::string(20'000, 'a')));
  expect_problem(endless.receive(), 414, "target_too_long");
}

TEST(HttpServerLimits, RefusesALargeHead) {
  TestServer server(echo);
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + std::string(20'000, 'a')));
  expect_problem(client.receive(), 431, "head_too_large");
  TestClient many(server.port());
  std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 5'000; ++i) head += "A: b\r\n";
  (void)many.send(head);
  expect_problem(many.receive(), 431, "head_too_large");
}

TEST(HttpServerLimits, RefusesTrailersWithoutEnd) {
  TestServer server(echo);
  TestClient client(server.port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"));
  std::string trailers;
  for (int i = 0; i < 10'000; ++i) trailers += "A: b\r\n";
  for (int i = 0; i < 50; ++i) (void)client.send(trailers);
  expect_problem(client.receive(), 413, "body_too_large");
}

TEST(HttpServerLimits, RefusesInputThatIsNotHttp) {
  TestServer server(echo);
  for (const std::string text :
       {"\x16\x03\x01\x02\x00\x01garbage\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/2.0\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nnot a length\r\n"}) {
    TestClient client(server.port());
    ASSERT_TRUE(client.send(text));
    expect_problem(client.receive(), 400, "not_http");
  }
}

// Otherwise the body's bytes would be parsed as a next request, which a proxy in front has not seen as one.
TEST(HttpServerLimits, RefusesABodyWithAnUnknownEnd) {
  TestServer server(echo);
  for (const char* encoding : {"gzip", "gzip, chunked", "chunked, gzip", "chunked\r\nTransfer-Encoding: chunked"}) {
    TestClient client(server.port());
    client.send(std::string("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ") + encoding +
                "\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(client.receive().value().status, 400) << encoding;
    EXPECT_TRUE(client.is_closed_by_server()) << encoding;
  }
}

TEST(HttpServerLimits, RefusesConnectionsBeyondTheLimitUntilOthersClose) {
  HttpServerOptions options{.listen = {"127.0.0.1:0"}};
  options.limits.connections = 2;
  TestServer server(echo, options);
  TestClient first(server.port());
  EXPECT_EQ(first.call("GET", "/").status, 200);
  auto second = std::make_unique<TestClient>(server.port());
  EXPECT_EQ(second->call("GET", "/").status, 200);
  TestClient third(server.port());
  const auto refused = third.receive();
  expect_problem(refused, 503, "busy");
  EXPECT_EQ(refused->headers.at("retry-after"), "1");
  third.close();
  second.reset();
  while (server->connections() != 1) std::this_thread::yield();
  EXPECT_EQ(TestClient(server.port()).call("GET", "/").status, 200);
}

// ---- Bytes in flight ----

constexpr std::size_t kMostInFlight = 100'000;

HttpServerOptions few_bytes() {
  HttpServerOptions options{.listen = {"127.0.0.1:0"}};
  options.limits.bytes_in_flight = kMostInFlight;
  return options;
}

void wait_for_bytes(TestServer& server, std::size_t least) {
  while (server->bytes_in_flight() < least) std::this_thread::yield();
}

void wait_until_nothing_is_held(TestServer& server) {
  while (server->bytes_in_flight() != 0) std::this_thread::yield();
}

TEST(HttpServerLimits, RefusesARequestBeyondTheBytesInFlight) {
  TestServer server(echo, few_bytes());
  TestClient slow(server.port());
  const std::string slow_request = request_text("POST", "/slow", std::string(95'000, 'x'));
  ASSERT_TRUE(slow.send(std::string_view(slow_request).substr(0, 90'000)));
  wait_for_bytes(server, 90'000);
  TestClient other(server.port());
  (void)other.send(request_text("POST", "/", std::string(20'000, 'x')));
  const auto refused = other.receive();
  expect_problem(refused, 503, "busy");
  EXPECT_EQ(refused->headers.at("retry-after"), "1");
  EXPECT_TRUE(other.is_closed_by_server());
  ASSERT_TRUE(slow.send(std::string_view(slow_request).substr(90'000)));
  EXPECT_EQ(slow.receive()->status, 200) << "earlier connections are not affected";
  EXPECT_EQ(TestClient(server.port()).call("POST", "/", std::string(20'000, 'x')).status, 200);
}

TEST(HttpServerLimits, HoldsNoBytesForAnsweredIdleOrClosedConnections) {
  TestServer server(echo, few_bytes());
  TestClient idle(server.port());
  EXPECT_EQ(idle.call("POST", "/", std::string(50'000, 'x')).status, 200);
  wait_until_nothing_is_held(server);
  std::vector<TestClient> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(server.port());
  ASSERT_TRUE(clients[0].send("GET /half-a-he"));
  ASSERT_TRUE(
      clients[1].send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n" + std::string(40'000, 'x')));
  ASSERT_TRUE(clients[2].send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n" +
                              std::string(9'000, 'x')));
  wait_for_bytes(server, 49'000);
  clients.clear();
  wait_until_nothing_is_held(server);
  EXPECT_EQ(idle.call("POST", "/", std::string(90'000, 'x')).status, 200) << "all of it is free again";
}

TEST(HttpServerLimits, HoldsBytesOfARequestAndThePipelinedOneUntilAnswered) {
  BoundedQueue<Responder> received(2);
  TestServer server(
      [&](const HttpRequest&, const Responder& responder) { (void)received.try_push(Responder(responder)); },
      few_bytes());
  TestClient client(server.port());
  const std::string behind = request_text("GET", "/behind");
  ASSERT_TRUE(client.send(request_text("POST", "/", std::string(50'000, 'x')) + behind));
  {
    const auto first = received.pop();
    EXPECT_GE(server->bytes_in_flight(), 50'000U);
    first->answer({.body = "first"});
  }
  EXPECT_EQ(client.receive()->body, "first");
  {
    const auto second = received.pop();
    while (server->bytes_in_flight() > behind.size()) std::this_thread::yield();
    EXPECT_EQ(server->bytes_in_flight(), behind.size());
    second->answer({.body = "second"});
  }
  EXPECT_EQ(client.receive()->body, "second");
  wait_until_nothing_is_held(server);
}

TEST_F(HttpServerDeadlines, ARefusedClientHoldsNoBytes) {
  TestClient client(server_.port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nxxxx"));
  wait_for_bytes(server_, 40);
  wait_until_read();
  clock_.advance(30s);
  expect_problem(client.receive(), 408, "too_slow");
  wait_until_nothing_is_held(server_);
}

TEST(HttpServerLimits, LogsRefusedConnectionsOnceASecond) {
  HttpServerOptions options{.listen = {"127.0.0.1:0"}};
  options.limits.connections = 1;
  ManualClock clock;
  TestServer server(echo, options, &clock);
  TestClient first(server.port());
  EXPECT_EQ(first.call("GET", "/").status, 200);
  for (int i = 0; i < 3; ++i) expect_problem(TestClient(server.port()).receive(), 503, "busy");
  clock.advance(1s);
  expect_problem(TestClient(server.port()).receive(), 503, "busy");
  server.stop();
  EXPECT_THAT(server.said(), AllOf(HasSubstr("suppressed=0"), HasSubstr("suppressed=2"), HasSubstr("peer=127.0.0.1:")));
  EXPECT_THAT(server.said(), Not(HasSubstr("suppressed=1")));
}

TEST(HttpServerLimits, LeavesFurtherConnectionsInTheBacklog) {
  HttpServerOptions options{.listen = {"127.0.0.1:0"}};
  options.limits.connections = 1;
  TestServer server(echo, options);
  std::vector<TestClient> clients;
  for (std::size_t i = 0; i < 1 + kRefusedAtOnce; ++i) clients.emplace_back(server.port());
  for (std::size_t i = 1; i < clients.size(); ++i) EXPECT_EQ(clients[i].receive()->status, 503);
  TestClient in_line(server.port());
  EXPECT_EQ(server->connections(), 1 + kRefusedAtOnce);
  ASSERT_TRUE(in_line.send(request_text("GET", "/")));
  clients.clear();
  EXPECT_TRUE(in_line.receive().has_value());  // it is accepted now, if only to be refused
}

}  // namespace
}  // namespace horae::testing
