#include "agent/processes/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace horae::agent {
namespace {

Error system_error(std::string_view what) {
  return {ErrorCode::kUnavailable, fmt::format("{}: {}", what, std::strerror(errno))};
}

constexpr std::size_t kMaxMessage = 256;
constexpr int kPatienceMs = 1000;  // for the other end to read what was sent before
constexpr std::size_t kControlBytes = CMSG_SPACE(kMaxPassedDescriptors * sizeof(int));

}  // namespace

Result<DescriptorPair> make_socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return system_error("a pair of sockets");
  }
  return DescriptorPair{Descriptor(ends[0]), Descriptor(ends[1])};
}

Result<DescriptorPair> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("a pipe");
  DescriptorPair pair{Descriptor(ends[0]), Descriptor(ends[1])};
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return system_error("a pipe");
  return pair;
}

Result<Descriptor> make_memory_file(std::string_view content) {
  Descriptor file(::memfd_create("horae", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open()) return system_error("a file in memory");
  while (!content.empty()) {
    const ssize_t written = ::write(file.number(), content.data(), content.size());
    if (written < 0) return system_error("a file in memory");
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (::fcntl(file.number(), F_ADD_SEALS, kSeals) != 0 || ::lseek(file.number(), 0, SEEK_SET) != 0) {
    return system_error("a file in memory");
  }
  return file;
}

Result<std::string> read_rest(int file, std::size_t max_bytes) {
  std::string text;
  std::array<char, 16384> piece{};
  while (true) {
    const ssize_t got = ::read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("reading a file");
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > max_bytes) {
      return Error{ErrorCode::kOverLimit, fmt::format("a file has more than {} bytes", max_bytes)};
    }
  }
}

bool send_message(int socket, std::string_view message, const std::vector<int>& descriptors) {
  HORAE_CHECK(message.size() <= kMaxMessage && descriptors.size() <= kMaxPassedDescriptors, "messages are small");
  iovec text{.iov_base = const_cast<char*>(message.data()), .iov_len = message.size()};
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size() * sizeof(int));
  }
  while (::sendmsg(socket, &header, MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    pollfd event{.fd = socket, .events = POLLOUT, .revents = 0};
    if (::poll(&event, 1, kPatienceMs) == 0) return false;
  }
  return true;
}

Result<Message> receive_message(int socket) {
  Message message{.text = std::string(kMaxMessage, '\0'), .descriptors = {}};
  iovec text{.iov_base = message.text.data(), .iov_len = message.text.size()};
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Error{ErrorCode::kOverLimit, "nothing has arrived"};
  message.text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); got > 0 && part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof number);
      message.descriptors.emplace_back(number);
    }
  }
  return message;
}

}  // namespace horae::agent
