// What messages take in memory.
#pragma once

#include <cstddef>
#include <vector>

#include "model/message.h"

namespace horae {

inline constexpr std::size_t kMessageOverhead = 256;  // of a message without content, with its place in the lists

inline std::size_t size_of(const Bytes& bytes) { return bytes ? bytes->size() : 0; }

inline std::size_t size_of(const std::vector<MessageHeader>& headers) {
  std::size_t size = 0;
  for (const MessageHeader& header : headers) size += sizeof(header) + header.name.size() + size_of(header.value);
  return size;
}

inline std::size_t size_of(const Message& message) {
  return kMessageOverhead + message.id.size() + size_of(message.key) + size_of(message.value) +
         size_of(message.headers);
}

}  // namespace horae
