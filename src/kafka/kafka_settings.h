// Settings of librdkafka that a configuration may give, and those that it may not.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace horae {

// By librdkafka's names: "bootstrap.servers", "sasl.password", ...
using KafkaSettings = std::map<std::string, std::string>;

// kRefused for a setting that Horae sets itself, because losing no message rests on it; kMalformed for one that
// librdkafka does not have, and for a value that it does not take. The message never holds the value.
Result<void> check_kafka_setting(const std::string& name, const std::string& value);

// True for settings whose value must not be printed: passwords, keys, tokens.
bool is_secret_kafka_setting(std::string_view name);

}  // namespace horae
