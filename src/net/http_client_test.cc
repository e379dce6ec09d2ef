#include "net/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace horae {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using std::literals::operator""ms;

// Accepts one connection on its own port and lets the test script the raw bytes of the response.
class OneCallServer {
 public:
  // A connection as the script sees it.
  struct Peer {
    int socket;

    // Reads to the end of a head, then `body` more bytes.
    std::string read(std::size_t body = 0) const {
      std::string text;
      char byte = 0;
      while (!text.ends_with("\r\n\r\n") && ::read(socket, &byte, 1) == 1) text += byte;
      for (; body > 0 && ::read(socket, &byte, 1) == 1; --body) text += byte;
      return text;
    }
    void write(std::string_view text) const { EXPECT_EQ(::write(socket, text.data(), text.size()), std::ssize(text)); }
    // Waits until the peer closes the connection.
    void wait_for_the_end() const {
      char byte = 0;
      while (::read(socket, &byte, 1) == 1) continue;
    }
  };

  explicit OneCallServer(std::function<void(const Peer&)> script) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, any, sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::getsockname(listener_, any, &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this, script = std::move(script)] {
      const int socket = ::accept(listener_, nullptr, nullptr);
      script({socket});
      ::close(socket);
    });
  }
  ~OneCallServer() {
    thread_.join();
    ::close(listener_);
  }
  OneCallServer(const OneCallServer&) = delete;
  OneCallServer& operator=(const OneCallServer&) = delete;

  const std::string& url() const { return url_; }

 private:
  int listener_;
  std::string url_;
  std::thread thread_;
};

TEST(HttpClient, SendsTheRequestAndReturnsTheWholeResponse) {
  std::string seen;
  OneCallServer server([&seen](const OneCallServer::Peer& peer) {
    seen = peer.read(5);
    peer.write("HTTP/1.1 201 Created\r\nContent-Length: 3\r\nX-Two:  a b \r\n\r\nyes");
  });
  HttpClient client;
  const auto response = client.send({.method = "POST",
                                     .url = server.url() + "/v1/tasks?x=1",
                                     .headers = {{"Content-Type", "application/json"}, {"X-Empty", ""}},
                                     .body = std::string("{\0\"}x", 5)});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->header("x-two"), "a b");
  EXPECT_EQ(response->header("x-three"), "");
  EXPECT_EQ(response->body, "yes");
  EXPECT_THAT(seen, AllOf(HasSubstr("POST /v1/tasks?x=1 HTTP/1.1\r\n"), HasSubstr("Content-Type: application/json\r\n"),
                          HasSubstr("X-Empty:\r\n"), HasSubstr("Content-Length: 5\r\n")));
  EXPECT_TRUE(seen.ends_with(std::string("{\0\"}x", 5)));
}

TEST(HttpClient, ReusesItsConnection) {
  int calls = 0;
  OneCallServer server([&calls](const OneCallServer::Peer& peer) {
    for (; calls < 3; ++calls) {
      (void)peer.read();
      peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
  });
  HttpClient client;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.send({.url = server.url()}).ok());
}

TEST(HttpClient, ReturnsErrorStatusesAndFollowsNoRedirect) {
  OneCallServer server([](const OneCallServer::Peer& peer) {
    (void)peer.read();
    peer.write("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno");
    (void)peer.read();
    peer.write("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n");
  });
  HttpClient client;
  EXPECT_EQ(client.send({.url = server.url()})->status, 404);
  EXPECT_EQ(client.send({.url = server.url()})->status, 302);
}

TEST(HttpClient, ReportsThatNothingWasSentWhenTheConnectionIsRefused) {
  const int reserved = ::socket(AF_INET, SOCK_STREAM, 0);  // bound, but it does not listen
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(reserved, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(reserved, reinterpret_cast<sockaddr*>(&address), &size), 0);

  HttpClient client;
  const auto response = client.send({.url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port))});
  ::close(reserved);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(response.error().message, HasSubstr("nothing was sent: is it running"));
}

TEST(HttpClient, ReportsAPossibleEffectWhenTheResponseTimesOut) {
  OneCallServer server([](const OneCallServer::Peer& peer) {
    (void)peer.read();
    peer.wait_for_the_end();
  });
  HttpClient client;
  const auto response = client.send({.url = server.url(), .timeout = 50ms});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(response.error().message,
              AllOf(HasSubstr("no response within 50ms"), HasSubstr("may have taken effect")));
}

TEST(HttpClient, ReportsAPossibleEffectWhenTheConnectionBreaks) {
  OneCallServer server([](const OneCallServer::Peer& peer) { (void)peer.read(); });
  HttpClient client;
  const auto response = client.send({.url = server.url()});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(response.error().message, HasSubstr("may have taken effect"));
}

TEST(HttpClient, FollowsRedirectsIfAsked) {
  std::string seen;
  OneCallServer server([&seen](const OneCallServer::Peer& peer) {
    (void)peer.read(2);
    peer.write("HTTP/1.1 303 See Other\r\nLocation: /there\r\nContent-Length: 2\r\n\r\nno");
    seen = peer.read();
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes");
    (void)peer.read();
    peer.write("HTTP/1.1 302 Found\r\nLocation: /once\r\nContent-Length: 0\r\n\r\n");
    (void)peer.read();
    peer.write("HTTP/1.1 302 Found\r\nLocation: /twice\r\nContent-Length: 0\r\n\r\n");
  });
  HttpClient client;
  const auto response = client.send({.method = "POST", .url = server.url(), .body = "{}", .max_redirects = 1});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "yes");
  EXPECT_THAT(seen, HasSubstr("GET /there HTTP/1.1"));
  const auto too_many = client.send({.url = server.url(), .max_redirects = 1});
  ASSERT_TRUE(too_many.ok()) << too_many.error().message;
  EXPECT_EQ(too_many->status, 302);
  EXPECT_EQ(too_many->header("location"), "/twice");
}

HttpClientOptions with_policy(const std::vector<std::string>& allowed = {}) {
  return {.policy = std::make_shared<AddressPolicy>(AddressPolicy::allowing(allowed).value())};
}

TEST(HttpClient, ConnectsToNoAddressThatThePolicyRefuses) {
  HttpClient client(with_policy());
  // A name is judged by what it resolves to at this very connect, so one that changes its answer gains nothing.
  for (const char* host : {"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1",
                           "0177.0.0.1", "0.0.0.0", "169.254.169.254"}) {
    const auto response = client.send({.url = "http://" + std::string(host) + ":1"});
    ASSERT_FALSE(response.ok()) << host;
    EXPECT_EQ(response.error().code, ErrorCode::kForbidden) << host << ": " << response.error().message;
    EXPECT_THAT(response.error().message, HasSubstr("nothing was sent there"));
  }
}

TEST(HttpClient, ConnectsToNetworksThatThePolicyAllows) {
  OneCallServer server([](const OneCallServer::Peer& peer) {
    (void)peer.read();
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  EXPECT_TRUE(HttpClient(with_policy({"127.0.0.0/8"})).send({.url = server.url()}).ok());
}

TEST(HttpClient, JudgesTheAddressOfARedirect) {
  OneCallServer server([](const OneCallServer::Peer& peer) {
    (void)peer.read();
    peer.write("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:1/\r\nContent-Length: 0\r\n\r\n");
  });
  HttpClient client(with_policy({"127.0.0.1"}));
  const auto response = client.send({.url = server.url(), .max_redirects = 5});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kForbidden);
  EXPECT_THAT(response.error().message, HasSubstr("127.0.0.2 is a loopback address"));
}

TEST(HttpClient, RefusesAResponseThatIsTooLarge) {
  OneCallServer server([](const OneCallServer::Peer& peer) {
    (void)peer.read();
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n01234567890");
  });
  HttpClient client({.max_body_bytes = 10});
  const auto response = client.send({.url = server.url()});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kOverLimit);
}

TEST(HttpClient, RefusesAHeadThatIsTooLarge) {
  OneCallServer server([](const OneCallServer::Peer& peer) {
    (void)peer.read();
    peer.write("HTTP/1.1 200 OK\r\nX: " + std::string(100, 'x') + "\r\nContent-Length: 0\r\n\r\n");
  });
  HttpClient client({.max_head_bytes = 100});
  EXPECT_EQ(client.send({.url = server.url()}).error().code, ErrorCode::kOverLimit);
}

TEST(HttpClient, RefusesInvalidRequests) {
  HttpClient client;
  for (const NetRequest& request :
       {NetRequest{.url = "ftp://127.0.0.1/"}, NetRequest{.url = "file:///etc/hostname"}, NetRequest{.url = ""},
        NetRequest{.url = "http://127.0.0.1/\r\nX: 1"}, NetRequest{.method = "GET /", .url = "http://127.0.0.1"},
        NetRequest{.url = "http://127.0.0.1", .headers = {{"X", "1\r\nY: 2"}}}}) {
    const auto response = client.send(request);
    ASSERT_FALSE(response.ok()) << request.url;
    EXPECT_EQ(response.error().code, ErrorCode::kMalformed) << response.error().message;
  }
}

// A server with a self-signed certificate.
class SelfSignedServer {
 public:
  const std::string& url() const { return url_; }
  std::string certificate() const { return folder_.path() + "/certificate.pem"; }

  SelfSignedServer() {
    testing::Process maker({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                            "-nodes", "-keyout", key(), "-out", certificate(), "-subj", "/CN=localhost", "-addext",
                            "subjectAltName=IP:127.0.0.1"});
    EXPECT_EQ(maker.wait().exit_code, 0);
    server_.emplace(std::vector<std::string>{"openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", certificate(),
                                             "-key", key(), "-www"});
    constexpr std::string_view kReady = "ACCEPT ";
    auto line = server_->read_line();
    while (line && !line->starts_with(kReady)) line = server_->read_line();
    EXPECT_TRUE(line) << "openssl s_server does not listen";
    url_ = "https://" + line.value_or(std::string(kReady)).substr(kReady.size());
  }

 private:
  std::string key() const { return folder_.path() + "/key.pem"; }

  testing::TemporaryFolder folder_;
  std::optional<testing::Process> server_;
  std::string url_;
};

TEST(HttpClient, TrustsOnlyTheAuthoritiesOfTheGivenFile) {
  const SelfSignedServer server;
  HttpClient trusting({.ca_file = server.certificate()});
  const auto response = trusting.send({.url = server.url()});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 200);

  HttpClient careful;
  const auto refused = careful.send({.url = server.url()});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("nothing was sent"), HasSubstr("--ca")));
}

TEST(HttpClient, ReportsThatAPortDoesNotSpeakTls) {
  OneCallServer server([](const OneCallServer::Peer& peer) { peer.write("HTTP/1.1 400 Bad Request\r\n\r\n"); });
  const auto response = HttpClient().send({.url = "https" + server.url().substr(4)});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(response.error().message, HasSubstr("does it speak TLS"));
}

TEST(HttpClient, RefusesAnInvalidFileOfCertificates) {
  OneCallServer server([](const OneCallServer::Peer& peer) { peer.wait_for_the_end(); });
  HttpClient client({.ca_file = "/nonexistent/ca.pem"});
  const auto response = client.send({.url = "https" + server.url().substr(4)});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kMalformed);
  EXPECT_THAT(response.error().message, AllOf(HasSubstr("/nonexistent/ca.pem"), HasSubstr("PEM")));
}

TEST(EscapeUrl, KeepsOnlyUnreservedCharacters) {
  EXPECT_EQ(escape_url("a-Z_0.~"), "a-Z_0.~");
  EXPECT_EQ(escape_url("a/b?c&d=e f+%"), "a%2Fb%3Fc%26d%3De%20f%2B%25");
  EXPECT_EQ(escape_url("\xC3\xA4"), "%C3%A4");
}

}  // namespace
}  // namespace horae
