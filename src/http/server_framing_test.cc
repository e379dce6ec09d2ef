// Requests whose parts two readers could understand in different ways: RFC 9112 asks for a refusal, or says which
// reading is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/bounded_queue.h"
#include "http/test_client.h"
#include "http/test_server.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;

class HttpFraming : public ::testing::Test {
 protected:
  // The answer to these bytes, and the request that the handler got for them.
  TestResponse send(const std::string& bytes) {
    TestClient client(server_.port());
    EXPECT_TRUE(client.send(bytes));
    auto response = client.receive();
    EXPECT_TRUE(response.has_value());
    return response.value_or(TestResponse());
  }
  HttpRequest seen() { return seen_.pop().value(); }

  // `detail` is a part of the reason that the client gets.
  void expect_refused(const std::string& bytes, const std::string& detail) {
    TestClient client(server_.port());
    EXPECT_TRUE(client.send(bytes));
    const auto response = client.receive();
    ASSERT_TRUE(response.has_value()) << bytes;
    EXPECT_EQ(response->status, 400) << bytes;
    EXPECT_THAT(response->body, HasSubstr(detail)) << bytes;
    EXPECT_TRUE(client.is_closed_by_server()) << bytes;
  }

  BoundedQueue<HttpRequest> seen_{8};
  TestServer server_{[this](HttpRequest request, const Responder& responder) {
    (void)seen_.try_push(std::move(request));
    responder.answer({.body = "ok"});
  }};
};

TEST_F(HttpFraming, TrailersAreNoHeaders) {
  const auto response = send(
      "POST /v1/tasks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n"
      "2\r\n{}\r\n0\r\nAuthorization: Bearer stolen\r\nX-Forwarded-For: 10.0.0.1\r\nHost: evil\r\n\r\n");
  EXPECT_EQ(response.status, 200);
  const HttpRequest request = seen();
  EXPECT_EQ(request.body, "{}");
  EXPECT_EQ(request.header("Authorization"), "");
  EXPECT_EQ(request.header("X-Forwarded-For"), "");
  EXPECT_EQ(request.header("Host"), "a");
}

TEST_F(HttpFraming, ATrailerDoesNotEndTheConnection) {
  TestClient client(server_.port());
  ASSERT_TRUE(
      client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nConnection: close\r\n\r\n"));
  EXPECT_EQ(client.receive().value().headers.at("connection"), "keep-alive");
  EXPECT_EQ(client.call("GET", "/next").status, 200);
}

TEST_F(HttpFraming, EachRequestNamesItsHostOnce) {
  expect_refused("GET / HTTP/1.1\r\n\r\n", "Host");
  expect_refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "Host");
  expect_refused("GET / HTTP/1.1\r\nHost: localhost\r\nhost: evil.example\r\n\r\n", "Host");
  expect_refused("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", "Host");
  expect_refused("GET http://localhost/ HTTP/1.1\r\n\r\n", "Host");
  EXPECT_EQ(send("GET / HTTP/1.0\r\n\r\n").status, 200) << "HTTP/1.0 has no Host";
}

TEST_F(HttpFraming, AHostIsANameOrAnAddressWithAPort) {
  for (const char* host : {"127.0.0.1:1@evil.com", "localhost:1:evil", "[evil", "[::1", "[::1]x", "::1", "a b", "a/b",
                           "user@localhost", "localhost:port", "localhost:99999", "[localhost]", "%zz"}) {
    expect_refused(std::string("GET / HTTP/1.1\r\nHost: ") + host + "\r\n\r\n", "Host");
  }
  for (const char* host : {"", "localhost", "localhost:", "LOCALHOST:3369", "127.0.0.1:1", "[::1]:3369",
                           "horae.example", "a_b-c.d~e", "a%2Db"}) {
    EXPECT_EQ(send(std::string("GET / HTTP/1.1\r\nHost: ") + host + "\r\n\r\n").status, 200) << host;
  }
}

TEST_F(HttpFraming, RefusesHeadersThatContinueOnTheNextLine) {
  expect_refused("GET / HTTP/1.1\r\nHost: a\r\nX: one\r\n  two\r\n\r\n", "one line");
  expect_refused("GET / HTTP/1.1\r\nHost: a\r\nX: one\r\n\ttwo\r\n\r\n", "one line");
  expect_refused("GET / HTTP/1.1\r\nHost:\r\n a\r\n\r\n", "one line");
  EXPECT_EQ(send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\r\n x").status, 200) << "it is the body";
}

TEST_F(HttpFraming, RefusesChunkedBodiesInHttp10) {
  expect_refused("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.0");
}

TEST_F(HttpFraming, ServesTheAbsoluteFormOfATarget) {
  ASSERT_EQ(send("GET http://localhost:3369/v1/a%2Fb?limit=1 HTTP/1.1\r\nHost: other.example\r\n\r\n").status, 200);
  const HttpRequest request = seen();
  EXPECT_EQ(request.path, "/v1/a%2Fb");
  EXPECT_EQ(request.query, "limit=1");
  EXPECT_EQ(request.header("Host"), "localhost:3369") << "the target counts, not the header";
  ASSERT_EQ(send("GET HTTPS://[::1]?limit=1 HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
  const HttpRequest root = seen();
  EXPECT_EQ(root.path, "/");
  EXPECT_EQ(root.query, "limit=1");
  EXPECT_EQ(root.header("Host"), "[::1]");
  ASSERT_EQ(send("GET http://evil.example/ HTTP/1.0\r\n\r\n").status, 200);
  EXPECT_EQ(seen().header("Host"), "evil.example") << "HTTP/1.0 has no Host of its own";
}

TEST_F(HttpFraming, RefusesTargetsThatAreNoPath) {
  for (const char* target : {"v1/tasks", "ftp://localhost/", "http:///v1", "http://user@localhost/", "http://[evil/",
                             "localhost:3369", "http:/v1", "?limit=1"}) {
    expect_refused(std::string("GET ") + target + " HTTP/1.1\r\nHost: a\r\n\r\n", "target");
  }
  EXPECT_EQ(send("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
}

}  // namespace
}  // namespace horae::testing
