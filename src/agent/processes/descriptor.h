// File descriptors: owned, and passed between processes.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace horae::agent {

// Owns a file descriptor and closes it.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

struct DescriptorPair {
  Descriptor first;
  Descriptor second;
};

// Two ends of a connection that keeps the bounds of messages. kUnavailable if the process has no descriptors left.
Result<DescriptorPair> make_socket_pair();

// The end to read (it does not block) and the end to write (it does).
Result<DescriptorPair> make_pipe();

// A file in memory with this content, read from its begin. It can no longer be changed.
Result<Descriptor> make_memory_file(std::string_view content);

// The rest of a file, from where it is read next.
Result<std::string> read_rest(int file, std::size_t max_bytes);

inline constexpr std::size_t kMaxPassedDescriptors = 8;

// Sends one message with descriptors. False if the other end is closed, or if it does not read for a second.
bool send_message(int socket, std::string_view message, const std::vector<int>& descriptors = {});

struct Message {
  std::string text;  // empty: the other end is closed
  std::vector<Descriptor> descriptors;
};

// Takes one message of at most 256 bytes. Does not block: nothing arrived is kOverLimit.
Result<Message> receive_message(int socket);

}  // namespace horae::agent
