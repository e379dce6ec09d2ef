// The server with TLS, and which addresses need it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <thread>

#include "http/listen_address.h"
#include "http/test_certificate.h"
#include "http/test_client.h"
#include "http/test_server.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class HttpsServer : public ::testing::Test {
 protected:
  HttpServerOptions options(const std::string& listen = "https://127.0.0.1:0") {
    HttpServerOptions options{.listen = {listen}, .tls = files_};
    options.limits.sweep = 1ms;
    return options;
  }

  // An encrypted connection that trusts the certificate.
  static TestClient connect(const TestServer& server, const std::string& trusted) {
    TestClient client(server.port());
    EXPECT_TRUE(client.start_tls({.trusted = trusted}));
    return client;
  }
  TestClient connect(const TestServer& server) { return connect(server, files_.certificate); }

  // Overwrites the files in use, as a renewal does.
  void replace_files(const TlsOptions& by) {
    std::ofstream(files_.certificate) << std::ifstream(by.certificate).rdbuf();
    std::ofstream(files_.key) << std::ifstream(by.key).rdbuf();
  }

  std::string start_error(const HttpServerOptions& options) {
    const SystemClock clock;
    std::ostringstream said;
    HttpServer server(options, clock, Logger(said, clock), echo);
    const auto started = server.start();
    return started.ok() ? "no error" : started.error().message;
  }

  const TemporaryFolder folder_;
  const TlsOptions files_ = write_certificate(folder_.path(), "first");
};

TEST_F(HttpsServer, AnswersEncryptedAndMarksTheRequest) {
  HttpRequest seen;
  TestServer server(
      [&](HttpRequest request, const Responder& responder) {
        seen = std::move(request);
        responder.answer({.body = "hello"});
      },
      options());
  EXPECT_THAT(server->urls(), ::testing::ElementsAre("https://" + server->addresses()[0]));
  TestClient client = connect(server);
  EXPECT_EQ(client.chosen_protocol(), "http/1.1");
  EXPECT_EQ(client.call("GET", "/").body, "hello");
  EXPECT_EQ(client.call("GET", "/again").body, "hello");
  EXPECT_TRUE(seen.is_tls);
  EXPECT_TRUE(seen.is_local);
}

// So that a browser that has been here once does not send a token in plain text.
TEST_F(HttpsServer, AsksBrowsersToStayWithTls) {
  TestServer server(echo, options());
  TestClient client = connect(server);
  EXPECT_EQ(client.call("GET", "/").headers["strict-transport-security"], "max-age=31536000");
  TestClient plain(server.port());
  ASSERT_TRUE(plain.send(request_text("GET", "/")));
  EXPECT_FALSE(plain.receive()->headers.contains("strict-transport-security")) << "it is invalid on a plain connection";
  TestServer other(echo);
  EXPECT_FALSE(TestClient(other.port()).call("GET", "/").headers.contains("strict-transport-security"));
}

TEST_F(HttpsServer, CarriesLargeBodiesBothWays) {
  TestServer server(
      [](HttpRequest request, const Responder& responder) { responder.answer({.body = std::move(request.body)}); },
      options());
  TestClient client = connect(server);
  std::string body;
  for (int i = 0; body.size() < 1'000'000; ++i) body += std::to_string(i) + ",";
  EXPECT_EQ(client.call("POST", "/", body).body, body);
}

TEST_F(HttpsServer, AnswersPipelinedRequestsInTheirOrder) {
  TestServer server(echo, options());
  TestClient client = connect(server);
  std::string all;
  for (int i = 0; i < 1000; ++i) all += request_text("GET", "/" + std::to_string(i));
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(client.receive()->body, "/" + std::to_string(i));
}

TEST_F(HttpsServer, SendsCloseNotify) {
  TestServer server(echo, options());
  TestClient client = connect(server);
  EXPECT_EQ(client.call("GET", "/", {}, "Connection: close\r\n").status, 200);
  EXPECT_TRUE(client.is_closed_by_server());
  EXPECT_TRUE(client.received_close_notify());
}

TEST_F(HttpsServer, RefusesProtocolsThatAreOldOrNotHttp) {
  TestServer server(echo, options());
  EXPECT_FALSE(TestClient(server.port()).start_tls({.is_old = true}));
  EXPECT_FALSE(TestClient(server.port()).start_tls({.protocol = "h2"}));
  TestClient silent(server.port());
  EXPECT_TRUE(silent.start_tls({.protocol = ""}));
  EXPECT_EQ(silent.call("GET", "/").status, 200);
}

TEST_F(HttpsServer, AnswersAPlainHttpClientWithAHint) {
  TestServer server(echo, options());
  TestClient client(server.port());
  ASSERT_TRUE(client.send(request_text("GET", "/")));
  const auto answer = client.receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 400);
  EXPECT_THAT(answer->body, HasSubstr("https://"));
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST_F(HttpsServer, ClosesOnGarbage) {
  TestServer server(echo, options());
  TestClient client(server.port());
  ASSERT_TRUE(client.send(std::string(1000, '\x7f')));
  (void)client.receive_rest();  // an alert, perhaps
  while (server->connections() != 0) std::this_thread::yield();
}

TEST_F(HttpsServer, LimitsTheTimeForTheHandshake) {
  ManualClock clock;
  TestServer server(echo, options(), &clock);
  TestClient client(server.port());
  ASSERT_TRUE(client.send("\x16\x03\x01"));
  while (server->connections() != 1) std::this_thread::yield();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(connect(server).call("GET", "/").status, 200);  // now it has been read
  clock.advance(10s);
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST_F(HttpsServer, RefusesConnectionsBeyondTheLimitOverTls) {
  auto limited = options();
  limited.limits.connections = 1;
  TestServer server(echo, limited);
  TestClient first = connect(server);
  EXPECT_EQ(first.call("GET", "/").status, 200);
  TestClient second = connect(server);
  EXPECT_EQ(second.receive()->status, 503);
}

TEST_F(HttpsServer, CallsOnGoneWhenTheClientDisconnects) {
  std::promise<void> gone;
  std::promise<Responder> held;
  TestServer server(
      [&](const HttpRequest&, const Responder& responder) {
        responder.on_gone([&] { gone.set_value(); });
        held.set_value(responder);
      },
      options());
  TestClient client = connect(server);
  ASSERT_TRUE(client.send(request_text("GET", "/")));
  const Responder responder = held.get_future().get();
  client.close();
  gone.get_future().get();
  EXPECT_TRUE(responder.is_gone());
}

TEST_F(HttpsServer, StreamsUntilTheClientCloses) {
  class Count final : public BodyStream {
   public:
    explicit Count(std::promise<void>& released) : released_(released) {}
    ~Count() override { released_.set_value(); }
    Count(const Count&) = delete;
    Count& operator=(const Count&) = delete;
    std::string next() override { return ++count_ <= 100 ? std::string(50'000, 'a') : ""; }

   private:
    std::promise<void>& released_;
    int count_ = 0;
  };
  std::promise<void> released;
  TestServer server(
      [&](const HttpRequest&, const Responder& responder) { responder.stream({}, std::make_shared<Count>(released)); },
      options());
  TestClient client = connect(server);
  ASSERT_TRUE(client.send(request_text("GET", "/")));
  EXPECT_EQ(client.receive(true)->status, 200);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(client.receive_chunk(), std::string(50'000, 'a'));
  client.close();
  released.get_future().get();
}

TEST_F(HttpsServer, AnswersManyConcurrentClients) {
  TestServer server(echo, options());
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&, i] {
      for (int j = 0; j < 10; ++j) {
        const std::string path = "/" + std::to_string(i) + "/" + std::to_string(j);
        EXPECT_EQ(connect(server).call("POST", path, "{}").body, path);
      }
    });
  }
  for (auto& client : clients) client.join();
}

// ---- Certificates ----

TEST_F(HttpsServer, UsesReloadedCertificatesForNewConnections) {
  TestServer server(echo, options());
  TestClient before = connect(server);
  EXPECT_EQ(before.server_name(), "first");
  replace_files(write_certificate(folder_.path(), "second"));
  EXPECT_EQ(connect(server, "").server_name(), "first");  // not yet
  ASSERT_TRUE(server->reload_certificates().ok());
  TestClient after = connect(server);
  EXPECT_EQ(after.server_name(), "second");
  EXPECT_EQ(after.call("GET", "/").status, 200);
  EXPECT_EQ(before.call("GET", "/").status, 200);
}

TEST_F(HttpsServer, KeepsTheOldCertificateIfTheNewOneIsBad) {
  TestServer server(echo, options());
  std::ofstream(files_.certificate) << "no certificate";
  const auto reloaded = server->reload_certificates();
  ASSERT_FALSE(reloaded.ok());
  EXPECT_THAT(reloaded.error().message, AllOf(HasSubstr(files_.certificate), HasSubstr("no start line")));
  TestClient client = connect(server, "");
  EXPECT_EQ(client.server_name(), "first");
  EXPECT_EQ(client.call("GET", "/").status, 200);
}

TEST_F(HttpsServer, ReloadsSafelyWhileClientsConnect) {
  TestServer server(echo, options());
  std::atomic<bool> is_over = false;
  std::thread reloader([&] {
    while (!is_over) EXPECT_TRUE(server->reload_certificates().ok());
  });
  for (int i = 0; i < 50; ++i) EXPECT_EQ(connect(server).call("GET", "/").status, 200);
  is_over = true;
  reloader.join();
}

TEST_F(HttpsServer, DoesNotStartWithBadFilesAndSaysWhy) {
  auto given = options();
  given.tls.certificate = folder_.path() + "/none.crt";
  EXPECT_THAT(start_error(given), AllOf(HasSubstr("none.crt"), HasSubstr("No such file")));
  given.tls = {.certificate = files_.certificate, .key = write_certificate(folder_.path(), "other").key};
  EXPECT_THAT(start_error(given), AllOf(HasSubstr("other.key"), HasSubstr("mismatch")));
  const TlsOptions rsa = write_certificate(folder_.path(), "rsa", KeyKind::kRsa);
  given.tls = {.certificate = files_.certificate, .key = rsa.key};
  EXPECT_THAT(start_error(given), AllOf(StartsWith("key "), HasSubstr("rsa.key")));
  given.tls = {.certificate = rsa.certificate, .key = files_.key};
  EXPECT_THAT(start_error(given), StartsWith("key "));
  given.tls = {.certificate = files_.certificate, .key = files_.certificate};
  EXPECT_THAT(start_error(given), StartsWith("key "));
  given.tls = {.certificate = files_.certificate, .key = ""};
  EXPECT_THAT(start_error(given), HasSubstr("belong together"));
}

// ---- Addresses ----

TEST_F(HttpsServer, EncryptsAddressesOpenToOtherMachines) {
  HttpRequest seen;
  TestServer server(
      [&](HttpRequest request, const Responder& responder) {
        seen = std::move(request);
        responder.answer({});
      },
      options("0.0.0.0:0"));
  EXPECT_EQ(connect(server).call("GET", "/").status, 200);
  EXPECT_TRUE(seen.is_tls);
  EXPECT_FALSE(seen.is_local);
}

TEST_F(HttpsServer, BehindAProxyItMayBePlain) {
  HttpRequest seen;
  TestServer server(
      [&](HttpRequest request, const Responder& responder) {
        seen = std::move(request);
        responder.answer({});
      },
      {.listen = {"0.0.0.0:0"}, .plaintext_behind_proxy = true});
  EXPECT_EQ(TestClient(server.port()).call("GET", "/").status, 200);
  EXPECT_FALSE(seen.is_tls);
  EXPECT_FALSE(seen.is_local);
  EXPECT_THAT(server->urls()[0], StartsWith("http://0.0.0.0:"));
}

TEST_F(HttpsServer, NamesTheSettingsThatAnOpenAddressNeeds) {
  const auto error_of = [this](const std::string& listen) { return start_error({.listen = {listen}}); };
  EXPECT_THAT(error_of("0.0.0.0:0"), AllOf(HasSubstr("is open to other machines"), HasSubstr("http.tls_certificate"),
                                           HasSubstr("http.plaintext_behind_proxy = true")));
  EXPECT_THAT(error_of("http://[::]:0"), AllOf(HasSubstr("is open to other machines"), HasSubstr("write https://")));
  EXPECT_THAT(error_of("https://127.0.0.1:0"), HasSubstr("give http.tls_certificate and http.tls_key"));
  EXPECT_EQ(error_of("http://127.0.0.1:0"), "no error");
  EXPECT_EQ(error_of("127.0.0.1:0"), "no error");
  EXPECT_THAT(start_error(options("http://0.0.0.0:0")), HasSubstr("is open to other machines"));
}

TEST(ListenAddress, SaysWhereAndHow) {
  const auto plain = parse_listen_address("http://[::1]:80");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->address, "::1");
  EXPECT_EQ(plain->port, 80);
  EXPECT_TRUE(plain->is_loopback);
  EXPECT_EQ(plain->says_tls, false);
  EXPECT_EQ(parse_listen_address("https://10.0.0.1:443")->says_tls, true);
  EXPECT_EQ(parse_listen_address("10.0.0.1:443")->says_tls, std::nullopt);
  for (const char* text :
       {"ftp://127.0.0.1:1", "https://", "https://:1", "http://example:1", "127.0.0.1:1/", "::1:1", "", "x"}) {
    EXPECT_FALSE(parse_listen_address(text).ok()) << text;
  }
}

TEST(ListenAddress, APortAloneAndLocalhostAreLoopback) {
  for (const char* text : {"41003", "localhost:41003", "http://localhost:41003"}) {
    const auto address = parse_listen_address(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->address, "127.0.0.1");
    EXPECT_EQ(address->port, 41003);
    EXPECT_TRUE(address->is_loopback);
  }
}

}  // namespace
}  // namespace horae::testing
