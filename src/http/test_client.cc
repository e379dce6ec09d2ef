#include "http/test_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace horae::testing {
namespace {

constexpr int kPatienceMs = 20'000;

int connect_to(std::uint16_t port, bool ipv6) {
  const int made = ::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  HORAE_CHECK(made >= 0, "a test has file descriptors");
  int connected = -1;
  if (ipv6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = in6addr_loopback;
    connected = ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected = ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  HORAE_CHECK(connected == 0, "the server under test listens");
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

TestClient::TestClient(std::uint16_t port, bool ipv6) : socket_(connect_to(port, ipv6)) {}
TestClient::~TestClient() { close(); }
TestClient::TestClient(TestClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), received_(std::move(other.received_)) {}

void TestClient::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void TestClient::finish_sending() { ::shutdown(socket_, SHUT_WR); }

bool TestClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool TestClient::fill() {
  pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
  HORAE_CHECK(::poll(&waiting, 1, kPatienceMs) == 1, "the server under test neither answers nor closes");
  std::array<char, 65536> bytes{};
  const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
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
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n{}", method, target, headers);
  const bool names_type = lower(std::string(headers)).find("content-type") != std::string::npos;
  if (!body.empty() && !names_type) text += "Content-Type: application/json\r\n";
  if (!body.empty() || method == "POST") text += fmt::format("Content-Length: {}\r\n", body.size());
  return text + "\r\n" + std::string(body);
}

}  // namespace horae::testing
