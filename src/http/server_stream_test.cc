// Answers without an end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "http/test_client.h"
#include "http/test_server.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// The pieces that the streams of a test send. It outlives the server.
class Source {
 public:
  // A handler that answers every request with a stream of these pieces.
  HttpServer::Handler handler() {
    return [this](const HttpRequest&, const Responder& responder) {
      responder.stream({.content_type = "text/event-stream"}, std::make_shared<Stream>(*this));
      const std::lock_guard lock(mutex_);
      responders_.push_back(responder);
    };
  }

  void put(std::string piece) {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(std::move(piece));
    for (const Responder& responder : responders_) responder.resume();
  }

  void resume() {
    const std::lock_guard lock(mutex_);
    for (const Responder& responder : responders_) responder.resume();
  }

  // Without a further piece.
  void end() {
    is_over_ = true;
    resume();
  }

  // Each call of next() returns this piece from now on.
  void set_endless(std::string piece) {
    const std::lock_guard lock(mutex_);
    endless_ = std::move(piece);
  }

  void wait_until_released(int count) const {
    while (released_ < count) std::this_thread::yield();
  }
  void wait_until_called(int count) const {
    while (calls_ < count) std::this_thread::yield();
  }
  int calls() const { return calls_; }
  int released() const { return released_; }

  std::function<void()> on_next = [] {};  // called by each next()

 private:
  class Stream final : public BodyStream {
   public:
    explicit Stream(Source& source) : source_(source) {}
    ~Stream() override { ++source_.released_; }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    std::string next() override { return source_.next(); }
    bool is_over() const override { return source_.is_over_; }

   private:
    Source& source_;
  };

  std::string next() {
    ++calls_;
    on_next();
    const std::lock_guard lock(mutex_);
    if (pieces_.empty()) return endless_;
    std::string piece = std::move(pieces_.front());
    pieces_.pop_front();
    return piece;
  }

  std::mutex mutex_;
  std::deque<std::string> pieces_;     // guarded by mutex_
  std::string endless_;                // guarded by mutex_
  std::vector<Responder> responders_;  // guarded by mutex_
  std::atomic<bool> is_over_ = false;
  std::atomic<int> calls_ = 0;
  std::atomic<int> released_ = 0;
};

HttpServerOptions eager_options() {
  HttpServerOptions options{.listen = {"127.0.0.1:0"}};
  options.limits.sweep = 1ms;
  return options;
}

TEST(HttpStream, SendsEachPieceAsAChunkOnceAvailable) {
  Source source;
  TestServer server(source.handler());
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/events")));
  const auto head = client.receive(true);
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->headers.at("content-type"), "text/event-stream");
  EXPECT_EQ(head->headers.at("transfer-encoding"), "chunked");
  EXPECT_FALSE(head->headers.contains("content-length"));
  source.put("one");
  EXPECT_EQ(client.receive_chunk(), "one");
  source.put(std::string(64 << 10, 'x'));
  source.put("three");
  EXPECT_EQ(client.receive_chunk(), std::string(64 << 10, 'x'));
  EXPECT_EQ(client.receive_chunk(), "three");
}

TEST(HttpStream, EndsOnceItsSourceIsOver) {
  Source source;
  TestServer server(source.handler());
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/events")));
  ASSERT_TRUE(client.receive(true).has_value());
  source.put("last");
  EXPECT_EQ(client.receive_chunk(), "last");
  source.end();
  EXPECT_EQ(client.receive_chunk(), "");  // the chunk that ends the answer
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST(HttpStream, SendsPiecesAddedBeforeItBegan) {
  Source source;
  source.put("early");
  TestServer server(source.handler());
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/events")));
  ASSERT_TRUE(client.receive(true).has_value());
  EXPECT_EQ(client.receive_chunk(), "early");
}

TEST(HttpStream, BeginsFromAnotherThread) {
  Source source;
  std::promise<Responder> held;
  TestServer server([&](const HttpRequest&, const Responder& responder) { held.set_value(responder); });
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/events")));
  source.handler()({}, held.get_future().get());
  source.put("later");
  ASSERT_TRUE(client.receive(true).has_value());
  EXPECT_EQ(client.receive_chunk(), "later");
}

TEST(HttpStream, CountsAsTheAnswer) {
  Source source;
  std::promise<bool> second;
  TestServer server([&](const HttpRequest& request, const Responder& responder) {
    source.handler()(request, responder);
    responder.answer({.body = "second"}, [&](bool sent) { second.set_value(sent); });
  });
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/events")));
  EXPECT_FALSE(second.get_future().get());
  source.put("only this");
  ASSERT_TRUE(client.receive(true).has_value());
  EXPECT_EQ(client.receive_chunk(), "only this");
}

TEST(HttpStream, CoalescesResumes) {
  Source source;
  std::promise<void> is_inside;
  std::promise<void> go_on;
  source.on_next = [&, first = true]() mutable {
    if (!std::exchange(first, false)) return;
    is_inside.set_value();
    go_on.get_future().get();
  };
  TestServer server(source.handler());
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/events")));
  is_inside.get_future().get();
  for (int i = 0; i < 1000; ++i) source.resume();
  go_on.set_value();
  source.wait_until_called(2);
  source.put("last");
  ASSERT_TRUE(client.receive(true).has_value());
  EXPECT_EQ(client.receive_chunk(), "last");
  EXPECT_LE(source.calls(), 4);  // at the start, for all resumes together, for the piece and after it
}

TEST(HttpStream, AnHttp10ClientGetsThePiecesUntilTheConnectionCloses) {
  Source source;
  TestServer server(source.handler());
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /events HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  source.put("one ");
  source.put("two");
  const auto head = client.receive(true);
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->headers.at("connection"), "close");
  EXPECT_FALSE(head->headers.contains("transfer-encoding"));
  source.wait_until_called(3);
  server.stop();
  EXPECT_EQ(client.receive_rest(), "one two");
}

TEST(HttpStream, HeadGetsNoBodyAndKeepsTheConnection) {
  Source source;
  source.put("unseen");
  TestServer server([&](const HttpRequest& request, const Responder& responder) {
    if (request.path == "/other") return echo(request, responder);
    source.handler()(request, responder);
  });
  TestClient client(server.port());
  EXPECT_EQ(client.call("HEAD", "/events").headers.at("transfer-encoding"), "chunked");
  EXPECT_EQ(client.call("GET", "/other").body, "/other");
  EXPECT_EQ(source.calls(), 0);
  EXPECT_EQ(source.released(), 1);
}

TEST(HttpStream, CallsNextOfASilentStreamAtEachPulse) {
  Source source;
  ManualClock clock;
  TestServer server(source.handler(), eager_options(), &clock);
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/events")));
  ASSERT_TRUE(client.receive(true).has_value());
  source.wait_until_called(1);
  source.set_endless(": I am here\n\n");
  clock.advance(15s);
  EXPECT_EQ(client.receive_chunk(), ": I am here\n\n");
}

TEST(HttpStream, IsReleasedWhenTheClientCloses) {
  Source source;
  TestServer server(source.handler());
  auto client = std::make_unique<TestClient>(server.port());
  ASSERT_TRUE(client->send(request_text("GET", "/events")));
  ASSERT_TRUE(client->receive(true).has_value());
  source.wait_until_called(1);
  EXPECT_EQ(source.released(), 0);
  client.reset();
  source.wait_until_released(1);
  source.put("for no reader");
}

TEST(HttpStream, ClosesAReaderThatDoesNotReadAndBuffersLittleForIt) {
  Source source;
  const std::string piece(64 << 10, 'x');
  source.set_endless(piece);
  ManualClock clock;
  TestServer server(source.handler(), eager_options(), &clock);
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/events")));
  source.wait_until_called(1);
  while (source.released() == 0) {
    clock.advance(1s);
    std::this_thread::yield();
  }
  EXPECT_LT(source.calls() * piece.size(), 32U << 20);
  (void)client.receive_rest();
}

TEST(HttpStream, StopEndsItImmediatelyWithTheLastChunk) {
  Source source;
  TestServer server(source.handler());
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/events")));
  source.put("one");
  ASSERT_TRUE(client.receive(true).has_value());
  EXPECT_EQ(client.receive_chunk(), "one");
  server->stop(1h);
  EXPECT_EQ(client.receive_chunk(), "");
  EXPECT_TRUE(client.is_closed_by_server());
  EXPECT_EQ(source.released(), 1);
}

TEST(HttpStream, StopDoesNotWaitForAReaderThatDoesNotRead) {
  Source source;
  source.set_endless(std::string(64 << 10, 'x'));
  TestServer server(source.handler());
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/events")));
  source.wait_until_called(1);
  server->stop(1h);
  EXPECT_EQ(source.released(), 1);
}

TEST(HttpStream, IsRefusedBeyondTheLimitUntilAnotherEnds) {
  Source source;
  HttpServerOptions options{.listen = {"127.0.0.1:0"}};
  options.limits.streams = 1;
  TestServer server(source.handler(), options);
  auto first = std::make_unique<TestClient>(server.port());
  ASSERT_TRUE(first->send(request_text("GET", "/events")));
  EXPECT_EQ(first->receive(true)->status, 200);
  TestClient second(server.port());
  const auto refused = second.call("GET", "/events");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("urn:horae:problem:busy"));
  source.wait_until_released(1);
  first.reset();
  source.wait_until_released(2);
  ASSERT_TRUE(second.send(request_text("GET", "/events")));
  EXPECT_EQ(second.receive(true)->status, 200);
}

TEST(HttpStream, ASourceThatThrowsClosesItsConnectionAndIsLogged) {
  Source source;
  source.on_next = [] { throw std::runtime_error("oops"); };
  TestServer server(source.handler());
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/events")));
  ASSERT_TRUE(client.receive(true).has_value());
  EXPECT_EQ(client.receive_chunk(), std::nullopt);
  server.stop();
  EXPECT_THAT(server.said(), HasSubstr("oops"));
}

TEST(HttpStream, DiscardsFurtherInputOfTheClient) {
  Source source;
  TestServer server(source.handler());
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/events") + request_text("GET", "/never")));
  ASSERT_TRUE(client.receive(true).has_value());
  source.wait_until_called(1);
  ASSERT_TRUE(client.send(std::string(100'000, 'x')));
  source.put("still here");
  EXPECT_EQ(client.receive_chunk(), "still here");
}

TEST(HttpStream, MayOutliveTheServer) {
  Source source;
  {
    TestServer server(source.handler());
    TestClient client(server.port());
    ASSERT_TRUE(client.send(request_text("GET", "/events")));
    ASSERT_TRUE(client.receive(true).has_value());
  }
  EXPECT_EQ(source.released(), 1);
  source.put("for no reader");
}

}  // namespace
}  // namespace horae::testing
