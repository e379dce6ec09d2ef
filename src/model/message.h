// A delayed message: what Chronos carries from an input topic to an output topic, later.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
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

// The two headers that a record must carry, by the names that a delay queue is configured for. They differ.
struct HeaderNames {
  std::string id{kMessageIdHeader};
  std::string deadline{kDeadlineHeader};

  friend bool operator==(const HeaderNames&, const HeaderNames&) = default;
};

// Where a record of an input topic is. The same place is the same record, read again.
struct RecordPlace {
  std::int32_t partition = 0;
  std::int64_t offset = 0;

  friend auto operator<=>(const RecordPlace&, const RecordPlace&) = default;
};

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

// What the two headers of a record say.
struct MessageHead {
  std::string id;
  Instant deadline;
};

// Reads the two headers. A deadline is RFC 3339; without a zone it is UTC. Fails with kMalformed, and a message that names
// the header, if one of the two is missing, repeated, or not in its format.
Result<MessageHead> read_head(const std::vector<MessageHeader>& headers, const HeaderNames& names = {});

// The same with the rest of the record, without the two headers.
Result<Message> message_from_record(Bytes key, Bytes value, std::vector<MessageHeader> headers,
                                    const HeaderNames& names = {});

// Why read_head() fails, for figures: "missing_header", "repeated_header" or "malformed_header".
std::string_view record_fault(const std::vector<MessageHeader>& headers, const HeaderNames& names = {});

// 1 to kMaxMessageIdCharacters characters of UTF-8, free in form.
Result<void> check_message_id(std::string_view id);

// True from `advance` before the deadline on.
bool is_due(Instant deadline, Instant now, Duration advance);

}  // namespace horae
