#include "http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <sstream>
#include <thread>

#include "base/bounded_queue.h"
#include "http/test_client.h"
#include "http/test_server.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(HttpServer, PassesTheRequestToTheHandlerAndWritesItsAnswer) {
  HttpRequest seen;
  TestServer server([&](HttpRequest request, const Responder& responder) {
    seen = std::move(request);
    responder.answer({.status = 201, .body = R"({"a":1})", .headers = {{"Location", "/v1/x"}}});
  });
  const auto response = TestClient(server.port()).call("POST", "/v1/a%2Fb?limit=1&x", "[1]", "X-Extra: one\r\n");
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.body, R"({"a":1})");
  EXPECT_EQ(response.headers.at("location"), "/v1/x");
  EXPECT_EQ(response.headers.at("content-type"), "application/json");
  EXPECT_EQ(response.headers.at("connection"), "keep-alive");
  EXPECT_EQ(response.headers.at("x-request-id"), std::to_string(seen.id));
  EXPECT_EQ(response.headers.at("date").size(), std::string("Sun, 06 Nov 1994 08:49:37 GMT").size());
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path, "/v1/a%2Fb");
  EXPECT_EQ(seen.query, "limit=1&x");
  EXPECT_EQ(seen.body, "[1]");
  EXPECT_EQ(seen.header("x-extra"), "one");
  EXPECT_EQ(seen.header("x-other"), "");
  EXPECT_THAT(seen.peer, HasSubstr("127.0.0.1:"));
}

TEST(HttpServer, KeepsConnectionsOpenUntilTheClientSaysClose) {
  TestServer server(echo);
  TestClient client(server.port());
  EXPECT_EQ(client.call("GET", "/1").body, "/1");
  EXPECT_EQ(client.call("GET", "/2").body, "/2");
  const auto last = client.call("GET", "/3", {}, "Connection: close\r\n");
  EXPECT_EQ(last.headers.at("connection"), "close");
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST(HttpServer, Http10ClosesAfterTheAnswer) {
  TestServer server(echo);
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /old HTTP/1.0\r\n\r\n"));
  EXPECT_EQ(client.receive()->body, "/old");
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST(HttpServer, AnswersPipelinedRequestsInTheirOrder) {
  TestServer server(echo);
  TestClient client(server.port());
  std::string all;
  for (int i = 0; i < 100; ++i) all += request_text("POST", "/" + std::to_string(i), std::string(1000, 'x'));
  std::jthread sender([&] { EXPECT_TRUE(client.send(all)); });
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client.receive()->body, "/" + std::to_string(i));
  sender.join();
}

TEST(HttpServer, AnswersLaterFromAnotherThread) {
  std::promise<Responder> held;
  TestServer server([&](const HttpRequest&, const Responder& responder) { held.set_value(responder); });
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/")));
  std::promise<bool> sent;
  held.get_future().get().answer({.body = "later"}, [&](bool ok) { sent.set_value(ok); });
  EXPECT_EQ(client.receive()->body, "later");
  EXPECT_TRUE(sent.get_future().get());
}

TEST(HttpServer, TheFirstAnswerCounts) {
  std::promise<bool> second;
  TestServer server([&](const HttpRequest&, const Responder& responder) {
    responder.answer({.body = "first"});
    responder.answer({.body = "second"}, [&](bool sent) { second.set_value(sent); });
  });
  EXPECT_EQ(TestClient(server.port()).call("GET", "/").body, "first");
  EXPECT_FALSE(second.get_future().get());
}

TEST(HttpServer, ADroppedResponderAnswers500AndIsLogged) {
  TestServer server([](const HttpRequest&, const Responder&) {});
  const auto response = TestClient(server.port()).call("GET", "/");
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.headers.at("content-type"), "application/problem+json");
  server.stop();
  EXPECT_THAT(server.said(), AllOf(HasSubstr("ERROR a request was dropped without an answer"),
                                   HasSubstr("request=" + response.headers.at("x-request-id"))));
}

// A worker that disconnects during a long poll is not a bug.
TEST(HttpServer, AResponderThatIsDroppedAfterItsClientIsNotLogged) {
  BoundedQueue<Responder> received(1);
  TestServer server(
      [&](const HttpRequest&, const Responder& responder) { (void)received.try_push(Responder(responder)); });
  {
    TestClient client(server.port());
    ASSERT_TRUE(client.send(request_text("GET", "/")));
    const auto responder = received.pop();
    std::promise<void> gone;
    responder->on_gone([&] { gone.set_value(); });
    client.close();
    gone.get_future().wait();
  }
  server.stop();
  EXPECT_EQ(server.said(), "");
}

TEST(HttpServer, AHandlerThatThrowsAnswers500AndIsLogged) {
  TestServer server([](const HttpRequest&, const Responder&) { throw std::runtime_error("oops"); });
  EXPECT_EQ(TestClient(server.port()).call("GET", "/").status, 500);
  server.stop();
  EXPECT_THAT(server.said(), HasSubstr("oops"));
}

TEST(HttpServer, AnswersHeadWithoutABody) {
  TestServer server(echo);
  TestClient client(server.port());
  const auto response = client.call("HEAD", "/four");
  EXPECT_EQ(response.headers.at("content-length"), "5");
  EXPECT_EQ(client.call("GET", "/next").body, "/next");
}

TEST(HttpServer, AcceptsChunkedBodies) {
  TestServer server([](HttpRequest request, const Responder& responder) { responder.answer({.body = request.body}); });
  TestClient client(server.port());
  ASSERT_TRUE(
      client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"));
  EXPECT_EQ(client.receive()->body, "abcde");
}

TEST(HttpServer, AcceptsChunkedBodiesByteByByte) {
  TestServer server([](HttpRequest request, const Responder& responder) { responder.answer({.body = request.body}); });
  TestClient client(server.port()), other(server.port());
  for (const auto& [chunks, body] : {std::pair("0\r\n\r\n", ""), std::pair("1\r\nx\r\n0\r\nTrailer: y\r\n\r\n", "x")}) {
    ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"));
    for (const char byte : std::string_view(chunks)) {
      ASSERT_TRUE(client.send(std::string(1, byte)));
      EXPECT_EQ(other.call("GET", "/").status, 200);  // so that the server reads each byte alone
    }
    EXPECT_EQ(client.receive()->body, body);
  }
}

TEST(HttpServer, Sends100ContinueWhenExpected) {
  TestServer server([](HttpRequest request, const Responder& responder) { responder.answer({.body = request.body}); });
  TestClient client(server.port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"));
  EXPECT_EQ(client.receive()->status, 100);
  ASSERT_TRUE(client.send("abc"));
  EXPECT_EQ(client.receive()->body, "abc");
}

TEST(HttpServer, CallsOnGoneWhenTheClientDisconnects) {
  std::promise<void> gone;
  std::promise<Responder> held;
  TestServer server([&](const HttpRequest&, const Responder& responder) {
    responder.on_gone([&] { gone.set_value(); });
    held.set_value(responder);
  });
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/")));
  const Responder responder = held.get_future().get();
  EXPECT_FALSE(responder.is_gone());
  client.close();
  gone.get_future().get();
  EXPECT_TRUE(responder.is_gone());
  std::promise<bool> sent;
  responder.answer({}, [&](bool ok) { sent.set_value(ok); });
  EXPECT_FALSE(sent.get_future().get());
}

TEST(HttpServer, DoesNotCallOnGoneAfterTheAnswer) {
  std::atomic<int> gone = 0;
  TestServer server([&](const HttpRequest& request, const Responder& responder) {
    responder.on_gone([&] { ++gone; });
    responder.answer({.body = request.path});
  });
  {
    TestClient client(server.port());
    EXPECT_EQ(client.call("GET", "/1").body, "/1");
    EXPECT_EQ(client.call("GET", "/2").body, "/2");
  }
  server.stop();
  EXPECT_EQ(gone, 0);
}

TEST(HttpServer, AHalfClosedClientIsStillAnswered) {
  TestServer server(echo);
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/half")));
  client.finish_sending();
  EXPECT_EQ(client.receive()->body, "/half");
}

TEST(HttpServer, ListensOnSeveralAddresses) {
  TestServer server(echo, {.listen = {"127.0.0.1:0", "[::1]:0"}});
  const auto addresses = server->addresses();
  ASSERT_EQ(addresses.size(), 2U);
  EXPECT_THAT(addresses[1], HasSubstr("[::1]:"));
  const auto port = static_cast<std::uint16_t>(std::stoi(addresses[1].substr(6)));
  EXPECT_EQ(TestClient(port, true).call("GET", "/six").body, "/six");
}

TEST(HttpServer, RefusesMalformedAddresses) {
  const SystemClock clock;
  std::ostringstream said;
  for (const char* text : {"example.org:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:8x", ""}) {
    HttpServer server({.listen = {text}}, clock, Logger(said, clock), echo);
    const auto started = server.start();
    ASSERT_FALSE(started.ok()) << text;
    EXPECT_EQ(started.error().code, ErrorCode::kMalformed);
  }
}

TEST(HttpServer, ReportsAPortInUse) {
  TestServer first(echo);
  const SystemClock clock;
  std::ostringstream said;
  HttpServer second({.listen = first->addresses()}, clock, Logger(said, clock), echo);
  const auto started = second.start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::kConflict);
  EXPECT_THAT(started.error().message, HasSubstr(first->addresses()[0]));
}

TEST(HttpServer, StopWaitsForRequestsUnderWay) {
  std::promise<Responder> held;
  TestServer server([&](const HttpRequest&, const Responder& responder) { held.set_value(responder); });
  TestClient idle(server.port());
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/")));
  const Responder responder = held.get_future().get();
  std::jthread stopper([&] { server->stop(1min); });
  EXPECT_TRUE(idle.is_closed_by_server());
  responder.answer({.body = "at last"});
  const auto response = client.receive();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->body, "at last");
  EXPECT_EQ(response->headers.at("connection"), "close");
  client.close();
  stopper.join();
  server->stop(1min);
}

TEST(HttpServer, StopWaitsForARequestThatHasBegunToArrive) {
  TestServer server(echo);
  TestClient idle(server.port());
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /begun HTTP/1.1\r\nHost: a\r\n"));
  // It has been read once later requests on each thread have been.
  for (int i = 0; i < 4; ++i) EXPECT_EQ(TestClient(server.port()).call("GET", "/other").status, 200);
  std::jthread stopper([&] { server->stop(1min); });
  EXPECT_TRUE(idle.is_closed_by_server());
  ASSERT_TRUE(client.send("\r\n"));
  const auto response = client.receive();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->body, "/begun");
  client.close();
  stopper.join();
}

TEST(HttpServer, StopClosesConnectionsUnansweredAfterTheGrace) {
  std::promise<Responder> held;
  TestServer server([&](const HttpRequest&, const Responder& responder) { held.set_value(responder); });
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/")));
  const Responder responder = held.get_future().get();
  server->stop(10ms);
  EXPECT_TRUE(client.is_closed_by_server());
  bool sent = true;
  responder.answer({}, [&](bool ok) { sent = ok; });
  EXPECT_FALSE(sent);
}

TEST(HttpServer, AResponderMayOutliveTheServer) {
  std::promise<Responder> held;
  auto server =
      std::make_unique<TestServer>([&](const HttpRequest&, const Responder& responder) { held.set_value(responder); });
  TestClient client(server->port());
  ASSERT_TRUE(client.send(request_text("GET", "/")));
  const Responder responder = held.get_future().get();
  held = {};
  server.reset();
  bool sent = true;
  responder.answer({}, [&](bool ok) { sent = ok; });
  EXPECT_FALSE(sent);
}

TEST(HttpServer, AnswersManyConcurrentClients) {
  TestServer server(echo);
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&, i] {
      TestClient client(server.port());
      for (int j = 0; j < 200; ++j) {
        const std::string path = "/" + std::to_string(i) + "/" + std::to_string(j);
        EXPECT_EQ(client.call("POST", path, "{}").body, path);
      }
    });
  }
  for (auto& client : clients) client.join();
}

}  // namespace
}  // namespace horae::testing
