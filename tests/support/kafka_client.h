// What an application does with a topic: sends records and receives them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/message.h"

namespace horae::testing {

struct KafkaRecord {
  Bytes key = {};
  Bytes value = {};
  std::vector<MessageHeader> headers = {};
  std::int32_t partition = -1;    // -1: by the key, as Java does
  std::int64_t offset = 0;        // of a record that was received
  std::int64_t timestamp_ms = 0;  // likewise
};

// Not thread-safe: one thread at a time.
class KafkaSender {
 public:
  explicit KafkaSender(const std::string& address);
  ~KafkaSender();
  KafkaSender(const KafkaSender&) = delete;
  KafkaSender& operator=(const KafkaSender&) = delete;

  // Queues it; it survives an outage of the broker of up to five minutes.
  void send(const std::string& topic, const KafkaRecord& record);

  // Waits until all are acknowledged. Aborts if one was not.
  void flush();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Reads all partitions of a topic from their beginning, without a group; new partitions are found on the way.
//
// Not thread-safe: one thread at a time.
class KafkaReader {
 public:
  KafkaReader(const std::string& address, std::string topic);
  ~KafkaReader();
  KafkaReader(const KafkaReader&) = delete;
  KafkaReader& operator=(const KafkaReader&) = delete;

  // The next record; nothing if none comes within that time.
  std::optional<KafkaRecord> next(std::chrono::milliseconds patience);

  // At least `count` records, or what came within two minutes.
  std::vector<KafkaRecord> take(std::size_t count);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// What a group has committed for a partition; nothing if it has not.
std::optional<std::int64_t> committed_offset(const std::string& address, const std::string& group,
                                             const std::string& topic, std::int32_t partition);

}  // namespace horae::testing
