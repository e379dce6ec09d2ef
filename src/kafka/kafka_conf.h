// How clients of librdkafka are made. Private to the folder.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/log_rate_limiter.h"
#include "base/result.h"
#include "kafka/handles.h"
#include "kafka/kafka_settings.h"

namespace horae {

// What librdkafka passes to its callbacks. It must outlive the client.
struct KafkaOwner {
  KafkaOwner(Logger a_log, const Clock& a_clock, void* an_object)
      : log(std::move(a_log)), clock(a_clock), object(an_object) {}

  Logger log;
  const Clock& clock;
  LogRateLimiter limiter{2};  // librdkafka repeats itself at each attempt to connect
  void* object;               // the source or sink
};

// kMalformed for a setting that librdkafka does not have, and for a value that it does not take; the message does not
// hold the value of a secret.
Result<void> set_kafka_conf(rd_kafka_conf_t* conf, const std::string& name, const std::string& value);

struct KafkaConfParts {
  const KafkaSettings& given;     // by the configuration
  const KafkaSettings& defaults;  // which may be overridden
  const KafkaSettings& fixed;     // which may not
};

// What librdkafka logs goes to the owner's log. kMalformed as above.
Result<KafkaConf> make_kafka_conf(KafkaOwner& owner, const KafkaConfParts& parts);

// A client with its brokers still unknown. kMalformed if settings contradict each other.
Result<KafkaHandle> make_kafka_client(rd_kafka_type_t type, KafkaConf conf);

// Why the topic cannot be used now: "" if it exists and a broker answers. Blocks up to `timeout`.
struct KafkaLook {
  bool is_connected = false;
  std::string problem;
};
KafkaLook look_at_topic(rd_kafka_t* client, rd_kafka_topic_t* topic, Duration timeout);

inline int to_kafka_ms(Duration duration) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

}  // namespace horae
