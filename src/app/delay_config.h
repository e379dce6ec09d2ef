// The configuration of delay queues: tables [delay.NAME], and [kafka]. Private to the folder.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/file_entry.h"
#include "base/result.h"
#include "engine/relay/relay_options.h"
#include "kafka/kafka_settings.h"

namespace horae {

struct DelayQueueConfig {
  RelayOptions relay;                         // its name and the topic of its input, too
  std::string output;                         // a topic; empty if there is a webhook
  std::string group;                          // after loading never empty
  std::string dead_letter;                    // a topic; empty if there is none
  std::string webhook;                        // a URL; empty if there is an output
  std::vector<std::string> webhook_networks;  // beyond the public internet, to which the webhook may lead
};

struct DelayConfig {
  std::vector<DelayQueueConfig> queues;  // by name
  KafkaSettings kafka;                   // [kafka], by librdkafka's names
};

inline constexpr std::size_t kMaxConfiguredDelayQueues = 64;

// A key of a table [delay.NAME]. It can be given in the file only.
struct DelaySetting {
  std::string key;
  SettingKind kind;
  std::string help;
  std::string allowed;
  std::string seeds;
  std::function<Result<void>(DelayQueueConfig&, const std::vector<std::string>& items)> read;
  std::function<std::vector<std::string>(const DelayQueueConfig&)> write;
};

// In the order of the documentation.
std::span<const DelaySetting> delay_settings();

// Collects the entries of these tables. Each call returns what is wrong, or an empty text.
class DelayReading {
 public:
  // True for keys that begin with "delay." or "kafka.".
  static bool has(std::string_view key);

  std::string take(const FileEntry& entry);

  // HORAE_KAFKA_SASL_PASSWORD is kafka.sasl.password. Nothing if the variable is none of these.
  static bool is_variable(std::string_view name);
  std::string take_variable(const std::string& name, const std::string& value);

  // The whole; `faults` gets what is wrong with the queues as they are together.
  DelayConfig finish(std::vector<std::string>& faults) const;

 private:
  std::string take_queue_key(const FileEntry& entry);
  std::string take_kafka_key(const FileEntry& entry);

  std::map<std::string, DelayQueueConfig> queues_;
  KafkaSettings kafka_;
};

// As TOML. Secrets of [kafka] are left out.
std::string print_delay_config(const DelayConfig& config);

// Their part of docs/reference/configuration.md.
std::string delay_config_document();

}  // namespace horae
