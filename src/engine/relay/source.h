// Where the records of a delay queue come from. src/kafka implements it over librdkafka with threads of its own, the
// simulator and the tests in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/message.h"

namespace horae {

struct SourceRecord {
  RecordPlace place;
  std::uint64_t assignment = 0;  // the number of the partition's assignment to this consumer
  Bytes key;
  Bytes value;
  std::vector<MessageHeader> headers;
};

struct RecordDone {
  RecordPlace place;
  std::uint64_t assignment = 0;
};

struct SourceStatus {
  bool is_connected = false;
  std::string problem;              // "topic orders.in does not exist"; empty if all is well
  std::size_t partitions = 0;       // assigned
  std::optional<std::int64_t> lag;  // records behind the ends of all assigned partitions
};

// Records are read at least once: a crash repeats those that are not committed. Nothing here blocks. The implementation
// calls the function `wake` that its constructor gets when there are records to take.
//
// When partitions are revoked, the source drops the records that were not taken, waits up to 2 s until those taken are
// done, commits their offsets and lets go. When they are lost, it commits nothing.
//
// Thread-safe.
class Source {
 public:
  virtual ~Source() = default;

  // Records that have arrived, in order within each partition; empty if there are none. At least one if there is any,
  // however large. Each is taken once for each assignment.
  virtual std::vector<SourceRecord> take(std::size_t max, std::size_t max_bytes) = 0;

  // These records are durable in the store, published and acknowledged, or dead-lettered. Their offsets may be committed
  // as far as all earlier records of their partition are done too (a prefix). Records of an older assignment are ignored.
  virtual void done(std::span<const RecordDone> records) = 0;

  // False once the record's partition is lost, or revoked and let go: another consumer reads the record again, so the
  // caller forgets it.
  virtual bool is_assigned(const RecordDone& record) const = 0;

  // Back-pressure. While it is closed, no record is taken from the broker; what was fetched stays.
  virtual void set_open(bool open) = 0;

  virtual SourceStatus status() const = 0;
};

}  // namespace horae
