// Answers that their clients do not read, and requests for which there is no memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <thread>

#include "base/bounded_queue.h"
#include "http/test_client.h"
#include "http/test_server.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kRoomForOne = 12 << 20;
constexpr std::size_t kAnswerBytes = 8 << 20;  // more than the kernel buffers for a client that does not read

HttpServerOptions room_for_one() {
  HttpServerOptions options{.listen = {"127.0.0.1:0"}};
  options.limits.bytes_in_flight = kRoomForOne;
  return options;
}

// Answers with many bytes, and counts which of them were sent and which were not.
struct Large {
  std::atomic<int> called = 0, sent = 0, unsent = 0;

  HttpServer::Handler handler() {
    return [this](const HttpRequest& request, const Responder& responder) {
      if (request.path == "/small") return responder.answer({.body = "small"});
      ++called;
      responder.answer({.body = std::string(kAnswerBytes, 'x')}, [this](bool is_sent) { ++(is_sent ? sent : unsent); });
    };
  }
};

// A client that asks for a large answer and does not read it.
TestClient ask(const TestServer& server, int times = 1) {
  TestClient client;
  client.buffer_little();
  client.connect(server.port());
  std::string requests;
  for (int i = 0; i < times; ++i) requests += request_text("GET", "/large");
  EXPECT_TRUE(client.send(requests));
  return client;
}

void wait_for_count(const std::atomic<int>& count, int value) {
  while (count < value) std::this_thread::yield();
}

TEST(HttpAnswers, AnswersThatAreNotReadCountAndLeaveNoRoomForMore) {
  Large large;
  TestServer server(large.handler(), room_for_one());
  TestClient first = ask(server);
  wait_for_count(large.called, 1);
  while (server->bytes_in_flight() < kAnswerBytes) std::this_thread::yield();
  TestClient second = ask(server);  // the last one may exceed the limit
  wait_for_count(large.called, 2);
  while (server->bytes_in_flight() < 2 * kAnswerBytes) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) {
    TestClient next = ask(server);
    const auto refused = next.receive();
    ASSERT_TRUE(refused.has_value());
    EXPECT_EQ(refused->status, 503);
    EXPECT_THAT(refused->body, HasSubstr("limit of 12582912 bytes"));
    EXPECT_LT(server->bytes_in_flight(), 3 * kAnswerBytes);
  }
  EXPECT_EQ(large.called, 2);
  EXPECT_EQ(first.receive()->body.size(), kAnswerBytes);
  EXPECT_EQ(second.receive()->body.size(), kAnswerBytes);
  wait_for_count(large.sent, 2);
  while (server->bytes_in_flight() != 0) std::this_thread::yield();
  EXPECT_EQ(TestClient(server.port()).call("GET", "/large").status, 200);
}

// The requests were taken while there was room.
TEST(HttpAnswers, AnAnswerWithoutRoomIsReplacedByARefusal) {
  BoundedQueue<Responder> received(3);
  TestServer server(
      [&](const HttpRequest&, const Responder& responder) { (void)received.try_push(Responder(responder)); },
      room_for_one());
  std::vector<TestClient> clients;
  std::vector<Responder> responders;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(ask(server));
    responders.push_back(*received.pop());
  }
  std::atomic<int> sent = 0;
  std::atomic<int> unsent = 0;
  for (const Responder& responder : responders) {
    responder.answer({.body = std::string(kAnswerBytes, 'x')}, [&](bool is_sent) { ++(is_sent ? sent : unsent); });
  }
  const auto refused = clients[2].receive();
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status, 503);
  EXPECT_THAT(refused->body, HasSubstr("there is no room for this answer"));
  EXPECT_EQ(unsent, 1) << "a claim takes its tasks back";
  EXPECT_EQ(clients[0].receive()->body.size(), kAnswerBytes);
  EXPECT_EQ(clients[1].receive()->body.size(), kAnswerBytes);
  wait_for_count(sent, 2);
}

TEST(HttpAnswers, AClientThatLeavesReleasesItsAnswer) {
  Large large;
  TestServer server(large.handler(), room_for_one());
  TestClient client = ask(server);
  while (server->bytes_in_flight() < kAnswerBytes) std::this_thread::yield();
  client.close();
  wait_for_count(large.unsent, 1);
  while (server->bytes_in_flight() != 0) std::this_thread::yield();
}

TEST(HttpAnswers, PipelinedRequestsWaitForTheBytesOfTheirPredecessors) {
  Large large;
  TestServer server(large.handler(), room_for_one());
  TestClient client = ask(server, 5);
  wait_for_count(large.called, 1);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(TestClient(server.port()).call("GET", "/small").status, 200);
  EXPECT_EQ(large.called, 1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.receive()->body.size(), kAnswerBytes);
  EXPECT_EQ(large.called, 5);
}

TEST(HttpAnswers, ASharedBodyIsNotCopiedAndDoesNotCount) {
  const auto page = std::make_shared<const std::string>(kAnswerBytes, 'p');
  TestServer server(
      [&](const HttpRequest&, const Responder& responder) { responder.answer({.body = {}, .shared_body = page}); },
      room_for_one());
  std::vector<TestClient> clients;
  for (int i = 0; i < 10; ++i) clients.push_back(ask(server));
  while (page.use_count() < 11) std::this_thread::yield();
  EXPECT_LT(server->bytes_in_flight(), 100'000U);
  for (TestClient& client : clients) EXPECT_EQ(client.receive()->body, *page);
  EXPECT_EQ(TestClient(server.port()).call("HEAD", "/").headers.at("content-length"), std::to_string(kAnswerBytes));
}

TEST(HttpAnswers, AHandlerWithoutMemoryCostsItsRequestOnly) {
  TestServer server([](const HttpRequest& request, const Responder& responder) {
    if (request.path == "/large") throw std::bad_alloc();
    echo(request, responder);
  });
  TestClient client(server.port());
  const auto refused = client.call("GET", "/large");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("no memory for this request"));
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_EQ(client.call("GET", "/small").body, "/small");
}

TEST(HttpAnswers, AnAdmissionWithoutMemoryCostsItsConnectionOnly) {
  TestServer server(echo, {.listen = {"127.0.0.1:0"}}, nullptr, no_meter(), [](const HttpRequest& head) {
    if (head.path == "/large") throw std::bad_alloc();
    return Admission();
  });
  TestClient client(server.port());
  EXPECT_EQ(client.call("GET", "/large").status, 503);
  EXPECT_TRUE(client.is_closed_by_server());
  EXPECT_EQ(TestClient(server.port()).call("GET", "/small").body, "/small");
}

TEST(HttpAnswers, AStreamWithoutMemoryCostsItsConnectionOnly) {
  class Stream final : public BodyStream {
   public:
    std::string next() override { throw std::bad_alloc(); }
  };
  TestServer server([](const HttpRequest& request, const Responder& responder) {
    if (request.path != "/events") return echo(request, responder);
    responder.stream({.content_type = "text/event-stream"}, std::make_shared<Stream>());
  });
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/events")));
  EXPECT_TRUE(client.receive(true).has_value());
  EXPECT_TRUE(client.is_closed_by_server());
  EXPECT_EQ(TestClient(server.port()).call("GET", "/small").body, "/small");
}

}  // namespace
}  // namespace horae::testing
