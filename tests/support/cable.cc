#include "tests/support/cable.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <vector>

namespace horae::testing {
namespace {

constexpr int kPollMilliseconds = 20;  // how soon a cut is noticed
constexpr std::size_t kMaxWaiting = 1 << 20;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int listen_on_a_free_port(int& port) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (made < 0 || bind(made, generic, size) != 0 || listen(made, 128) != 0 || getsockname(made, generic, &size) != 0) {
    throw std::runtime_error("no free port");
  }
  port = ntohs(address.sin_port);
  return made;
}

int connect_to(int port) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (made >= 0 && connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return made;
  if (made >= 0) close(made);
  return -1;
}

}  // namespace

int free_port() {
  int port = 0;
  close(listen_on_a_free_port(port));
  return port;
}

Cable::Cable(int target_port) : target_port_(target_port), listener_(listen_on_a_free_port(port_)) {
  thread_ = std::thread([this] { run(); });
}

Cable::~Cable() {
  must_stop_ = true;
  thread_.join();
  close(listener_);
}

void Cable::strand() {
  must_strand_ = true;
  must_strand_.wait(true);
}

void Cable::run() {
  while (!must_stop_) {
    if (must_break_.exchange(false)) close_all();
    if (must_strand_) {
      for (const auto& [socket, end] : ends_) stranded_.push_back(socket);
      ends_.clear();
      must_strand_ = false;
      must_strand_.notify_all();
    }
    if (is_cut_) {
      poll(nullptr, 0, kPollMilliseconds);
      continue;
    }
    std::vector<pollfd> wanted = {{listener_, POLLIN, 0}};
    for (const auto& [socket, end] : ends_) {
      const bool has_room = end.waiting.size() < kMaxWaiting;
      const bool has_more = !ends_.at(end.peer).waiting.empty();
      wanted.push_back({socket, static_cast<short>((has_room ? POLLIN : 0) | (has_more ? POLLOUT : 0)), 0});
    }
    poll(wanted.data(), wanted.size(), kPollMilliseconds);
    for (const pollfd& each : wanted) {
      if (each.revents == 0) continue;
      if (each.fd == listener_) {
        accept_one();
      } else if (ends_.count(each.fd) != 0 && !pass(each.fd)) {
        close_pair(each.fd);
      }
    }
  }
  close_all();
}

void Cable::accept_one() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  const int server = connect_to(target_port_);
  if (server < 0) {
    close(client);
    return;
  }
  ends_[client] = {.peer = server, .waiting = {}};
  ends_[server] = {.peer = client, .waiting = {}};
}

// Reads the available bytes from this end, and writes to it the bytes that wait for it.
bool Cable::pass(int from) {
  End& end = ends_.at(from);
  std::string& to_it = ends_.at(end.peer).waiting;
  if (!to_it.empty()) {
    const ssize_t sent = send(from, to_it.data(), to_it.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent > 0) to_it.erase(0, static_cast<std::size_t>(sent));
  }
  if (end.waiting.size() >= kMaxWaiting) return true;
  std::array<char, 65536> buffer;
  const ssize_t count = recv(from, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count == 0) return false;
  if (count < 0) return errno == EAGAIN;
  end.waiting.append(buffer.data(), static_cast<std::size_t>(count));
  const ssize_t sent = send(end.peer, end.waiting.data(), end.waiting.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN;
  end.waiting.erase(0, static_cast<std::size_t>(sent));
  return true;
}

void Cable::close_pair(int socket) {
  const int peer = ends_.at(socket).peer;
  ends_.erase(socket);
  ends_.erase(peer);
  close(socket);
  close(peer);
}

void Cable::close_all() {
  while (!ends_.empty()) close_pair(ends_.begin()->first);
  for (const int socket : stranded_) close(socket);
  stranded_.clear();
}

}  // namespace horae::testing
