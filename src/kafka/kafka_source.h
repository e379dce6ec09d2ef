// The input topic of a delay queue, read as a member of a consumer group.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "engine/relay/source.h"
#include "kafka/kafka_settings.h"

namespace horae {

struct KafkaSourceOptions {
  std::string topic;
  std::string group;
  std::string client_id;
  KafkaSettings settings;  // of [kafka]

  // What is fetched and not taken yet; beyond, nothing is read from the broker.
  std::size_t most_records = 10'000;
  std::size_t most_bytes = 32 << 20;
};

// See Source for what it promises. A missing topic or broker is a status: it starts by itself when they appear.
//
// Offsets are committed each 200 ms, and when partitions are handed over; a crash repeats at most what came since. A node
// that dies loses its partitions after session.timeout.ms (6 s unless [kafka] says otherwise).
//
// Thread-safe, but for start() and stop(): one thread at a time.
class KafkaSource final : public Source {
 public:
  // The clock must be the system's and outlive the source. `wake` is called on a thread of the source, and must return
  // soon.
  KafkaSource(KafkaSourceOptions options, const Clock& clock, const Logger& log, std::function<void()> wake);
  ~KafkaSource() override;
  KafkaSource(const KafkaSource&) = delete;
  KafkaSource& operator=(const KafkaSource&) = delete;

  void start();

  // Waits up to 2 s for the records that were taken and are not done, commits and leaves the group. May be called twice.
  void stop();

  std::vector<SourceRecord> take(std::size_t max, std::size_t max_bytes) override;
  void done(std::span<const RecordDone> records) override;
  bool is_assigned(const RecordDone& record) const override;
  void set_open(bool open) override;
  SourceStatus status() const override;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace horae
