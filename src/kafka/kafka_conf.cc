#include "kafka/kafka_conf.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"

namespace horae {
namespace {

// Levels of syslog. Warnings about settings that only the other kind of client has are expected: [kafka] is for both.
void on_log(const rd_kafka_t* client, int level, const char* facility, const char* text) {
  auto& owner = *static_cast<KafkaOwner*>(rd_kafka_opaque(client));
  constexpr int kWarning = 4;
  if (level > kWarning || std::string_view(facility) == "CONFWARN") {
    owner.log.debug(text, {{"kafka", facility}});
    return;
  }
  const auto suppressed = owner.limiter.next(owner.clock.now());
  if (suppressed) owner.log.warn(text, {{"kafka", facility}, {"suppressed", *suppressed}});
}

}  // namespace

Result<void> set_kafka_conf(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  std::array<char, 512> why{};
  const auto set = rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why.data(), why.size());
  if (set == RD_KAFKA_CONF_OK) return {};
  if (set == RD_KAFKA_CONF_UNKNOWN) return Error{ErrorCode::kMalformed, "is no setting of librdkafka"};
  if (is_secret_kafka_setting(name)) return Error{ErrorCode::kMalformed, "has a value that librdkafka refuses"};
  return Error{ErrorCode::kMalformed, fmt::format("is refused by librdkafka: {}", why.data())};
}

Result<KafkaConf> make_kafka_conf(KafkaOwner& owner, const KafkaConfParts& parts) {
  KafkaConf conf(rd_kafka_conf_new());
  HORAE_CHECK(conf != nullptr, "librdkafka must make a configuration");
  for (const auto* settings : {&parts.defaults, &parts.given, &parts.fixed}) {
    for (const auto& [name, value] : *settings) {
      if (auto set = set_kafka_conf(conf.get(), name, value); !set.ok()) {
        return Error{set.error().code, fmt::format("kafka.{} {}", name, set.error().message)};
      }
    }
  }
  rd_kafka_conf_set_opaque(conf.get(), &owner);
  rd_kafka_conf_set_log_cb(conf.get(), on_log);
  return conf;
}

Result<KafkaHandle> make_kafka_client(rd_kafka_type_t type, KafkaConf conf) {
  std::array<char, 512> why{};
  KafkaHandle client(rd_kafka_new(type, conf.get(), why.data(), why.size()));
  if (client == nullptr)
    return Error{ErrorCode::kMalformed, fmt::format("the Kafka client cannot be made: {}", why.data())};
  (void)conf.release();  // the client owns it now
  return client;
}

KafkaLook look_at_topic(rd_kafka_t* client, rd_kafka_topic_t* topic, Duration timeout) {
  const rd_kafka_metadata_t* raw = nullptr;
  const auto failed = rd_kafka_metadata(client, 0, topic, &raw, to_kafka_ms(timeout));
  if (failed != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return {.is_connected = false, .problem = fmt::format("no Kafka broker answers: {}", rd_kafka_err2str(failed))};
  }
  const KafkaMetadata metadata(raw);
  const char* name = rd_kafka_topic_name(topic);
  if (metadata->topic_cnt == 0) return {.is_connected = true, .problem = fmt::format("topic {} does not exist", name)};
  const auto error = metadata->topics[0].err;
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR || error == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE) {
    return {.is_connected = true, .problem = ""};
  }
  if (error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
    return {.is_connected = true, .problem = fmt::format("topic {} does not exist", name)};
  }
  return {.is_connected = true, .problem = fmt::format("topic {}: {}", name, rd_kafka_err2str(error))};
}

}  // namespace horae
