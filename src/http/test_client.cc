#include "http/test_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "base/check.h"

namespace horae::testing {
namespace {

constexpr int kPatienceMs = 20'000;

int new_socket(bool ipv6) {
  const int made = ::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  HORAE_CHECK(made >= 0, "a test has file descriptors");
  return made;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

TestResponse parse_head(std::string_view head) {
  TestResponse response;
  response.status = std::stoi(std::string(head.substr(9, 3)));
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos && at + 2 < head.size();) {
    const std::size_t end = std::min(head.find("\r\n", at + 2), head.size());
    const std::string_view line = head.substr(at + 2, end - at - 2);
    const std::size_t colon = line.find(": ");
    response.headers[lower(std::string(line.substr(0, colon)))] = std::string(line.substr(colon + 2));
    at = end;
  }
  return response;
}

}  // namespace

struct TestClient::Tls {
  Tls() : context(SSL_CTX_new(TLS_client_method())), session(nullptr) {}
  ~Tls() {
    SSL_free(session);
    SSL_CTX_free(context);
  }
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  SSL_CTX* context;
  SSL* session;
};

TestClient::TestClient() : socket_(new_socket(false)) {}
TestClient::TestClient(std::uint16_t port, bool ipv6) : socket_(new_socket(ipv6)) { connect(port, ipv6); }
TestClient::~TestClient() { close(); }
TestClient::TestClient(TestClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), tls_(std::move(other.tls_)), received_(std::move(other.received_)) {}

void TestClient::connect(std::uint16_t port, bool ipv6) {
  int connected = -1;
  if (ipv6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = in6addr_loopback;
    connected = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  HORAE_CHECK(connected == 0, "the server under test listens");
}

void TestClient::come_from(const std::string& address) {
  sockaddr_in from{};
  from.sin_family = AF_INET;
  HORAE_CHECK(::inet_pton(AF_INET, address.c_str(), &from.sin_addr) == 1, "the test gives an address");
  HORAE_CHECK(::bind(socket_, reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0, "the loopback has it");
}

void TestClient::buffer_little() {
  const int bytes = 4096;
  HORAE_CHECK(::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) == 0, "a socket has a buffer");
}

bool TestClient::start_tls(const TestTls& tls) {
  (void)std::signal(SIGPIPE, SIG_IGN);  // raised by OpenSSL's writes
  tls_ = std::make_unique<Tls>();
  if (!tls.trusted.empty()) {
    SSL_CTX_set_verify(tls_->context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_load_verify_locations(tls_->context, tls.trusted.c_str(), nullptr);
  }
  if (tls.is_old) {
    SSL_CTX_set_cipher_list(tls_->context, "ALL:@SECLEVEL=0");
    SSL_CTX_set_min_proto_version(tls_->context, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(tls_->context, TLS1_1_VERSION);
  }
  tls_->session = SSL_new(tls_->context);
  if (!tls.protocol.empty()) {
    const std::string offer = static_cast<char>(tls.protocol.size()) + tls.protocol;
    SSL_set_alpn_protos(tls_->session, reinterpret_cast<const unsigned char*>(offer.data()),
                        static_cast<unsigned int>(offer.size()));
  }
  SSL_set_fd(tls_->session, socket_);
  return SSL_connect(tls_->session) == 1;
}

std::string TestClient::server_name() const {
  std::array<char, 256> name{};
  X509* certificate = SSL_get1_peer_certificate(tls_->session);
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(), name.size());
  X509_free(certificate);
  return name.data();
}

std::string TestClient::chosen_protocol() const {
  const unsigned char* chosen = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(tls_->session, &chosen, &size);
  return {reinterpret_cast<const char*>(chosen), size};
}

bool TestClient::received_close_notify() const {
  return (SSL_get_shutdown(tls_->session) & SSL_RECEIVED_SHUTDOWN) != 0;
}

void TestClient::close() {
  if (tls_ && socket_ >= 0) SSL_shutdown(tls_->session);
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void TestClient::finish_sending() { ::shutdown(socket_, SHUT_WR); }

bool TestClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = tls_ ? SSL_write(tls_->session, bytes.data(), static_cast<int>(bytes.size()))
                              : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool TestClient::fill() {
  pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
  const bool is_there = (tls_ && SSL_pending(tls_->session) > 0) || ::poll(&waiting, 1, kPatienceMs) == 1;
  HORAE_CHECK(is_there, "the server under test neither answers nor closes");
  std::array<char, 65536> bytes{};
  const ssize_t count = tls_ ? SSL_read(tls_->session, bytes.data(), static_cast<int>(bytes.size()))
                             : ::recv(socket_, bytes.data(), bytes.size(), 0);
  if (count <= 0) return false;
  received_.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

std::optional<TestResponse> TestClient::receive(bool to_head) {
  std::size_t end = 0;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) return std::nullopt;
  }
  TestResponse response = parse_head(std::string_view(received_).substr(0, end));
  received_.erase(0, end + 4);
  if (response.status == 100) return response;
  const bool has_body = !to_head && response.status != 204;
  const std::size_t length = !has_body ? 0 : std::stoul(response.headers["content-length"]);
  while (received_.size() < length) {
    if (!fill()) return std::nullopt;
  }
  response.body = received_.substr(0, length);
  received_.erase(0, length);
  return response;
}

std::optional<std::string> TestClient::receive_line() {
  std::size_t end = 0;
  while ((end = received_.find("\r\n")) == std::string::npos) {
    if (!fill()) return std::nullopt;
  }
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 2);
  return line;
}

std::optional<std::string> TestClient::receive_chunk() {
  const auto length = receive_line();
  if (!length) return std::nullopt;
  const std::size_t size = std::stoul(*length, nullptr, 16);
  while (received_.size() < size + 2) {
    if (!fill()) return std::nullopt;
  }
  std::string chunk = received_.substr(0, size);
  received_.erase(0, size + 2);
  return chunk;
}

std::string TestClient::receive_rest() {
  while (fill()) {
  }
  return std::exchange(received_, {});
}

bool TestClient::is_closed_by_server() { return received_.empty() && !fill(); }

TestResponse TestClient::call(std::string_view method, std::string_view target, std::string_view body,
                              std::string_view headers) {
  HORAE_CHECK(send(request_text(method, target, body, headers)), "the connection is open");
  auto response = receive(method == "HEAD");
  HORAE_CHECK(response.has_value(), "each request is answered");
  return std::move(*response);
}

std::string request_text(std::string_view method, std::string_view target, std::string_view body,
                         std::string_view headers) {
  const bool names_host = lower(std::string(headers)).starts_with("host:");
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\n{}{}", method, target, names_host ? "" : "Host: localhost\r\n", headers);
  const bool names_type = lower(std::string(headers)).find("content-type") != std::string::npos;
  if (!body.empty() && !names_type) text += "Content-Type: application/json\r\n";
  if (!body.empty() || method == "POST") text += fmt::format("Content-Length: {}\r\n", body.size());
  return text + "\r\n" + std::string(body);
}

}  // namespace horae::testing
