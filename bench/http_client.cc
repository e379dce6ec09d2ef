#include "bench/http_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/check.h"
#include "bench/measure.h"

namespace horae::bench {
namespace {

int connect_to(std::uint16_t port) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int connected = ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  HORAE_CHECK(connected == 0, "the measured server must accept connections");
  const int on = 1;
  ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return made;
}

// The length of the response at the front of `text`; 0 while it is incomplete.
std::size_t length_of_answer(std::string_view text) {
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string_view::npos) return 0;
  HORAE_CHECK(text[9] == '2', "every measured request must succeed");
  constexpr std::string_view kLength = "Content-Length: ";
  const std::size_t at = text.find(kLength);
  HORAE_CHECK(at < end, "every response must have a length");
  const std::size_t whole = end + 4 + std::strtoul(text.data() + at + kLength.size(), nullptr, 10);
  return text.size() >= whole ? whole : 0;
}

void send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    HORAE_CHECK(sent > 0, "the server must not close the connection");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

struct Client {
  int socket;
  int index;
  std::string received;
};

using Next = std::function<std::string(int, const std::string&)>;

// Reads the available bytes; nothing until a response is complete, then its body.
std::optional<std::string> take_answer(Client& client) {
  std::array<char, 65536> bytes;
  const ssize_t count = ::recv(client.socket, bytes.data(), bytes.size(), 0);
  HORAE_CHECK(count > 0, "the server must not close the connection");
  client.received.append(bytes.data(), static_cast<std::size_t>(count));
  if (length_of_answer(client.received) == 0) return std::nullopt;
  std::string body = client.received.substr(client.received.find("\r\n\r\n") + 4);
  client.received.clear();
  return body;
}

long run_clients(const Load& load, int first, int count, const Next& next) {
  const int poll = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<Client>(Client{connect_to(load.port), first + i, {}}));
    epoll_event event{.events = EPOLLIN, .data = {.ptr = clients.back().get()}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, clients.back()->socket, &event);
    send_all(clients.back()->socket, next(clients.back()->index, {}));
  }
  const Stopwatch watch;
  long answered = 0;
  while (watch.read().wall_s < load.seconds) {
    std::array<epoll_event, 64> events{};
    const int ready = ::epoll_wait(poll, events.data(), events.size(), 100);
    for (int i = 0; i < ready; ++i) {
      auto& client = *static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr);
      const auto body = take_answer(client);
      if (!body) continue;
      ++answered;
      send_all(client.socket, next(client.index, *body));
    }
  }
  for (const auto& client : clients) ::close(client->socket);
  ::close(poll);
  return answered;
}

}  // namespace

double requests_per_second(const Load& load, const std::function<std::string(int)>& next) {
  return answers_per_second(load, [&next](int connection, const std::string&) { return next(connection); });
}

double answers_per_second(const Load& load, const Next& next) {
  std::vector<long> answered(static_cast<std::size_t>(load.threads));
  std::vector<std::thread> threads;
  const int each = load.connections / load.threads;
  for (int i = 0; i < load.threads; ++i) {
    threads.emplace_back([&, i] { answered[static_cast<std::size_t>(i)] = run_clients(load, i * each, each, next); });
  }
  double sum = 0;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    sum += static_cast<double>(answered[i]);
  }
  return sum / load.seconds;
}

BlockingClient::BlockingClient(std::uint16_t port) : socket_(connect_to(port)) {}
BlockingClient::~BlockingClient() { ::close(socket_); }

std::string BlockingClient::call(const std::string& request) {
  send_all(socket_, request);
  std::string received;
  std::size_t whole = 0;
  while ((whole = length_of_answer(received)) == 0) {
    std::array<char, 65536> bytes;
    const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
    HORAE_CHECK(count > 0, "the server must not close the connection");
    received.append(bytes.data(), static_cast<std::size_t>(count));
  }
  return received.substr(received.find("\r\n\r\n") + 4);
}

std::string post_request(const std::string& target, const std::string& body, const std::string& token) {
  const std::string authorization = token.empty() ? "" : fmt::format("Authorization: Bearer {}\r\n", token);
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\n{}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", target,
      authorization, body.size(), body);
}

}  // namespace horae::bench
