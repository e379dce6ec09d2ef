// A node with TLS, as a real process.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <regex>

#include "http/test_certificate.h"
#include "http/test_client.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> serve(const TemporaryFolder& folder, std::vector<std::string> flags) {
  std::vector<std::string> command = {HORAE_BINARY, "serve", "--store", "sqlite:" + folder.path() + "/horae.db"};
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

// The port that the node listens on.
std::uint16_t read_port(Process& horae) {
  (void)horae.read_until("is running");
  const std::string line = horae.read_line().value_or("");
  std::smatch found;
  if (!std::regex_search(line, found, std::regex("https://127.0.0.1:([0-9]+)"))) throw std::runtime_error(line);
  return static_cast<std::uint16_t>(std::stoi(found[1]));
}

void stop(Process& horae) {
  horae.send_signal(SIGTERM);
  EXPECT_THAT(horae.read_rest(), HasSubstr("horae stopped"));
  EXPECT_EQ(horae.wait().exit_code, 0);
}

std::string name_of_server(std::uint16_t port) {
  TestClient client(port);
  if (!client.start_tls()) return "no handshake";
  EXPECT_EQ(client.call("GET", "/healthz").status, 200);
  return client.server_name();
}

TEST(ServeTls, ServesTlsAndReloadsCertificatesOnSighup) {
  const TemporaryFolder folder;
  const TlsOptions used = write_certificate(folder.path(), "first");
  Process horae(serve(folder, {"--http-listen", "https://127.0.0.1:0", "--http-tls-certificate", used.certificate,
                               "--http-tls-key", used.key}));
  const std::uint16_t port = read_port(horae);
  EXPECT_EQ(name_of_server(port), "first");

  const TlsOptions next = write_certificate(folder.path(), "second");
  std::ofstream(used.certificate) << std::ifstream(next.certificate).rdbuf();
  std::ofstream(used.key) << std::ifstream(next.key).rdbuf();
  horae.send_signal(SIGHUP);
  ASSERT_TRUE(horae.read_until("the certificate was reloaded"));
  EXPECT_EQ(name_of_server(port), "second");

  std::ofstream(used.key) << "no key";
  horae.send_signal(SIGHUP);
  ASSERT_TRUE(horae.read_until("the old certificate stays in use"));
  EXPECT_EQ(name_of_server(port), "second");
  stop(horae);
}

TEST(ServeTls, IgnoresSighupWithoutTls) {
  const TemporaryFolder folder;
  Process horae(serve(folder, {"--http-listen", "127.0.0.1:0"}));
  ASSERT_TRUE(horae.read_until("Stop with Ctrl-C"));
  horae.send_signal(SIGHUP);
  ASSERT_TRUE(horae.read_until("nothing to reload"));
  stop(horae);
}

TEST(ServeTls, RefusesToStartWithoutAnyToken) {
  const TemporaryFolder folder;
  Process horae(serve(folder, {"--http-listen", "127.0.0.1:0", "--http-plaintext-behind-proxy", "true"}));
  EXPECT_THAT(horae.read_rest(), HasSubstr("horae token create --offline"));
  EXPECT_EQ(horae.wait().exit_code, 1);
}

TEST(ServeTls, WarnsAtEachStartThatOnlyAProxyEncrypts) {
  const TemporaryFolder folder;
  Process token(
      {HORAE_BINARY, "token", "create", "--offline", "--data", folder.path(), "--name", "first", "--role", "admin"});
  EXPECT_THAT(token.read_rest(), HasSubstr("horae_t-"));
  Process horae(serve(folder, {"--http-listen", "127.0.0.1:0", "--http-plaintext-behind-proxy", "true"}));
  ASSERT_TRUE(horae.read_until("http.plaintext_behind_proxy: this node serves other machines without TLS"));
  ASSERT_TRUE(horae.read_until("Stop with Ctrl-C"));
  stop(horae);
}

}  // namespace
}  // namespace horae::testing
