// An output or dead-letter topic.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "engine/relay/sink.h"
#include "kafka/kafka_settings.h"

namespace horae {

struct KafkaSinkOptions {
  std::string topic;
  std::string client_id;
  Duration timeout = std::chrono::milliseconds(2500);  // from publish() to the report
  KafkaSettings settings;                              // of [kafka]
};

// See Sink for what it promises. Messages are published by an idempotent producer and acknowledged by all in-sync
// replicas; a key reaches the partition to which Java's producers send it. A producer with a fatal error is replaced by
// a new one; what it had is reported as failed or unknown. A missing topic or broker is a status.
//
// Thread-safe, but for start() and stop(): one thread at a time.
class KafkaSink final : public Sink {
 public:
  // The clock must be the system's and outlive the sink. `wake` is called on a thread of the sink, and must return soon.
  KafkaSink(KafkaSinkOptions options, const Clock& clock, const Logger& log, std::function<void()> wake);
  ~KafkaSink() override;
  KafkaSink(const KafkaSink&) = delete;
  KafkaSink& operator=(const KafkaSink&) = delete;

  void start();

  // Waits up to `grace` for acknowledgements; what has none by then is reported as failed or unknown. Nothing is taken
  // any more. May be called twice.
  void stop(Duration grace = {});

  std::size_t publish(std::vector<Publication>& messages) override;
  std::vector<PublishReport> take_reports() override;
  SinkStatus status() const override;

  // For tests: as if the broker had refused a message in a way that ends the producer.
  void raise_fatal_error();

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace horae
