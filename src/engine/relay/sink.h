// Where the messages of a delay queue go: its output, or its dead letters. src/kafka implements it over librdkafka,
// src/net as a webhook, the simulator and the tests in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/message.h"

namespace horae {

struct Publication {
  std::uint64_t ticket = 0;  // the caller's, for the report
  std::string id;            // of the message: for a webhook's header, and for logs
  Bytes key;
  Bytes value;
  std::vector<MessageHeader> headers;
};

enum class PublishEnd : std::uint8_t {
  kPublished,  // acknowledged by all replicas that are in sync, or by a 2xx
  kFailed,     // not published; may be tried again
  kUnknown,    // no answer in time: it may have been published
  kRefused,    // refused for good: too large, or a 4xx that no repetition mends
};

struct PublishReport {
  std::uint64_t ticket = 0;
  PublishEnd end = PublishEnd::kFailed;
  std::string reason;  // empty if it was published
};

struct SinkStatus {
  bool is_connected = false;
  std::string problem;  // "topic orders.out does not exist"; empty if all is well
};

// Nothing here blocks. The implementation calls the function `wake` that its constructor gets when there are reports.
//
// Thread-safe.
class Sink {
 public:
  virtual ~Sink() = default;

  // Hands over messages for publishing at once. Takes them from the front, and moves out of those it takes; returns how
  // many: fewer if its queue is full. Each one taken is reported exactly once, at the latest after the sink's own
  // time-out (half of the hold time), and is not published after that.
  virtual std::size_t publish(std::vector<Publication>& messages) = 0;

  virtual std::vector<PublishReport> take_reports() = 0;

  virtual SinkStatus status() const = 0;
};

}  // namespace horae
