// A delayed message: what Chronos carries from an input topic to an output topic, later.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace horae {

inline constexpr std::string_view kMessageIdHeader = "chronosMessageId";
inline constexpr std::string_view kDeadlineHeader = "chronosDeadline";
inline constexpr std::size_t kMaxMessageIdCharacters = 128;

// Null and empty are different things in Kafka, so they are here.
using Bytes = std::optional<std::string>;

struct MessageHeader {
  std::string name;
  Bytes value;

  friend bool operator==(const MessageHeader&, const MessageHeader&) = default;
};

// Key, value and headers are opaque: they leave byte for byte as they came, repeated headers in their order.
struct Message {
  std::string id;
  Instant deadline;
  Bytes key;
  Bytes value;
  std::vector<MessageHeader> headers;  // without the two of Chronos, which are not relayed

  friend bool operator==(const Message&, const Message&) = default;
};

// Waiting for its deadline, or readied by one node that answers for firing it.
enum class MessageState { kWaiting, kReady };

// Reads the id and the deadline from the headers of a record and takes them out. Fails with kMalformed, and a message
// that names the header, if one of the two is missing, repeated, or not in its format.
Result<Message> message_from_record(Bytes key, Bytes value, std::vector<MessageHeader> headers);

// 1 to kMaxMessageIdCharacters characters of UTF-8, free in form.
Result<void> check_message_id(std::string_view id);

// True from `advance` before the deadline on.
bool is_due(Instant deadline, Instant now, Duration advance);

}  // namespace horae
