#include "app/delay_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "app/nearest.h"
#include "base/duration.h"
#include "base/json_text.h"
#include "base/quote.h"
#include "model/task.h"

namespace horae {
namespace {

constexpr std::string_view kDelayPrefix = "delay.";
constexpr std::string_view kKafkaPrefix = "kafka.";
constexpr std::string_view kVariablePrefix = "HORAE_KAFKA_";
constexpr std::string_view kServers = "bootstrap.servers";
constexpr std::size_t kMaxTopicCharacters = 249;
constexpr std::string_view kAuto = "auto";

Error bad(std::string what) { return {ErrorCode::kMalformed, std::move(what)}; }

// What Kafka allows.
Result<void> check_topic(std::string_view name) {
  const bool is_plain = std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
  if (is_plain && name.size() <= kMaxTopicCharacters && !name.empty() && name != "." && name != "..") return {};
  return bad("is no name of a topic");
}

Result<void> check_some(std::string_view text) {
  if (!text.empty()) return {};
  return bad("is empty");
}

Result<void> check_webhook(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (url.starts_with(scheme) && url.size() > scheme.size()) return {};
  }
  return bad("is no URL");
}

using TextMember = std::function<std::string&(DelayQueueConfig&)>;
using DurationMember = std::function<Duration&(DelayQueueConfig&)>;

struct Texts {
  std::string key;
  std::string help;
  std::string seeds = {};
};

DelaySetting text_setting(const Texts& texts, std::string allowed, Result<void> (*check)(std::string_view),
                          const TextMember& member) {
  return {.key = texts.key,
          .kind = SettingKind::kText,
          .help = texts.help,
          .allowed = std::move(allowed),
          .seeds = texts.seeds,
          .read = [check, member](DelayQueueConfig& queue, const std::string& value) -> Result<void> {
            if (auto checked = check(value); !checked.ok()) return checked;
            member(queue) = value;
            return {};
          },
          .write =
              [member](const DelayQueueConfig& queue) {
                DelayQueueConfig copy = queue;
                return member(copy);
              }};
}

// Bounds are checked with the queue as a whole: faults_of().
DelaySetting duration_setting(const Texts& texts, std::string allowed, const DurationMember& member) {
  return {.key = texts.key,
          .kind = SettingKind::kDuration,
          .help = texts.help,
          .allowed = std::move(allowed),
          .seeds = texts.seeds,
          .read = [member](DelayQueueConfig& queue, const std::string& value) -> Result<void> {
            const auto duration = parse_duration(value);
            if (!duration.ok()) return duration.error();
            member(queue) = *duration;
            return {};
          },
          .write =
              [member](const DelayQueueConfig& queue) {
                DelayQueueConfig copy = queue;
                return format_duration(member(copy));
              }};
}

DelaySetting advance_setting() {
  return {.key = "timing_advance",
          .kind = SettingKind::kText,
          .help = "How long before its deadline a message is published. \"auto\" learns it from the time that publishing "
                  "takes.",
          .allowed = "0s to 200ms, or auto",
          .seeds = "Chronos: timing advance",
          .read = [](DelayQueueConfig& queue, const std::string& value) -> Result<void> {
            if (value == kAuto) {
              queue.relay.timing_advance.reset();
              return {};
            }
            const auto duration = parse_duration(value);
            if (!duration.ok()) return duration.error();
            queue.relay.timing_advance = *duration;
            return {};
          },
          .write =
              [](const DelayQueueConfig& queue) {
                const auto advance = queue.relay.timing_advance;
                return advance ? format_duration(*advance) : std::string(kAuto);
              }};
}

DelaySetting private_setting() {
  return {.key = "webhook_allow_private",
          .kind = SettingKind::kBool,
          .help = "Whether the webhook may be at a private, loopback or link-local address.",
          .allowed = "true or false",
          .seeds = "",
          .read = [](DelayQueueConfig& queue, const std::string& value) -> Result<void> {
            queue.webhook_allow_private = value == "true";
            return {};
          },
          .write = [](const DelayQueueConfig& queue) -> std::string {
            return queue.webhook_allow_private ? "true" : "false";
          }};
}

std::vector<DelaySetting> make_delay_settings() {
  return {
      text_setting({"input", "Topic from which messages are read. Without it, messages come by REST alone.",
                    "Chronos: Kafka input topic name"},
                   "a topic", check_topic, [](DelayQueueConfig& q) -> std::string& { return q.relay.input; }),
      text_setting({"output", "Topic to which messages are published at their deadline.", "Chronos: Kafka output topic name"},
                   "a topic", check_topic, [](DelayQueueConfig& q) -> std::string& { return q.output; }),
      text_setting({"group", "Consumer group in which the nodes read the input. By default horae-NAME."}, "a group",
                   check_some, [](DelayQueueConfig& q) -> std::string& { return q.group; }),
      text_setting({"dead_letter",
                    "Topic for records that are no messages and for messages that the output refuses for good, with the "
                    "reason in a header. Without it, the first are dropped with an error in the log, and the second are "
                    "kept and tried each minute."},
                   "a topic", check_topic, [](DelayQueueConfig& q) -> std::string& { return q.dead_letter; }),
      text_setting({"id_header", "Header with the id of a message.", "Chronos: chronosMessageId"}, "a name", check_some,
                   [](DelayQueueConfig& q) -> std::string& { return q.relay.headers.id; }),
      text_setting({"deadline_header", "Header with the deadline of a message, in RFC 3339; without a zone it is UTC.",
                    "Chronos: chronosDeadline"},
                   "a name", check_some, [](DelayQueueConfig& q) -> std::string& { return q.relay.headers.deadline; }),
      advance_setting(),
      duration_setting({"hold_time",
                        "How long a node may hold a message that is ready before another node takes it over. A publish "
                        "without an answer is given up after half of it.",
                        "Chronos: hold time"},
                       "2s to 1h", [](DelayQueueConfig& q) -> Duration& { return q.relay.hold_time; }),
      duration_setting({"poll_interval", "How often the store is asked for messages that are due, while it holds any.",
                        "Chronos: poll interval"},
                       "10ms to 1m", [](DelayQueueConfig& q) -> Duration& { return q.relay.poll_interval; }),
      duration_setting(
          {"failure_detection_interval", "How often the store is asked for messages that are stuck in the ready state.",
           "Chronos: failure detection interval"},
          "10ms to hold_time", [](DelayQueueConfig& q) -> Duration& { return q.relay.failure_detection_interval; }),
      duration_setting({"horizon",
                        "How long before they are published messages are readied. They wait in memory then, and can no "
                        "longer be cancelled or moved."},
                       "0s to 1s", [](DelayQueueConfig& q) -> Duration& { return q.relay.horizon; }),
      text_setting({"webhook", "URL to which each message is sent by POST at its deadline, instead of an output."},
                   "http://HOST/PATH or https://HOST/PATH", check_webhook,
                   [](DelayQueueConfig& q) -> std::string& { return q.webhook; }),
      private_setting(),
  };
}

std::string quoted(const std::string& text) {
  std::string result;
  append_json_string(result, text);
  return result;
}

std::string value_of(const DelaySetting& setting, const DelayQueueConfig& queue) {
  const std::string value = setting.write(queue);
  return setting.kind == SettingKind::kBool ? value : quoted(value);
}

// What is wrong with one queue as a whole.
void check_queue(const DelayQueueConfig& queue, bool has_servers, std::vector<std::string>& faults) {
  const auto note = [&](std::string_view fault) { faults.push_back(fmt::format("delay.{}: {}", queue.relay.queue, fault)); };
  const std::string& input = queue.relay.input;
  if (queue.output.empty() == queue.webhook.empty()) note("give either an output or a webhook");
  if (!has_servers && (!input.empty() || !queue.output.empty() || !queue.dead_letter.empty())) {
    note("a topic needs kafka.bootstrap.servers");
  }
  if (!input.empty() && input == queue.output) note("input and output are the same topic");
  if (!queue.dead_letter.empty() && (queue.dead_letter == input || queue.dead_letter == queue.output)) {
    note("dead_letter is the topic of the input or the output");
  }
  for (std::string& fault : faults_of(queue.relay)) faults.push_back(std::move(fault));
}

}  // namespace

std::span<const DelaySetting> delay_settings() {
  static const std::vector<DelaySetting> kSettings = make_delay_settings();
  return kSettings;
}

bool DelayReading::has(std::string_view key) { return key.starts_with(kDelayPrefix) || key.starts_with(kKafkaPrefix); }

std::string DelayReading::take(const std::string& key, const std::string& place, const std::string& value,
                               std::string_view type) {
  if (key.starts_with(kDelayPrefix)) return take_queue_key(key.substr(kDelayPrefix.size()), place, value, type);
  const std::string name = key.substr(kKafkaPrefix.size());
  if (type != "string" && type != "integer" && type != "boolean" && type != "floating-point") {
    return fmt::format("{}: {} is of type {}; give a text, a number or true or false", place, key, type);
  }
  if (auto checked = check_kafka_setting(name, value); !checked.ok()) {
    return fmt::format("{}: {} {}", place, key, checked.error().message);
  }
  kafka_[name] = value;
  return "";
}

std::string DelayReading::take_queue_key(std::string_view key, const std::string& place, const std::string& value,
                                         std::string_view type) {
  // A name may have dots, a key has none.
  const std::size_t dot = type == "table" ? key.size() : key.rfind('.');
  if (dot == std::string_view::npos) {
    return fmt::format("{}: delay.{} is no table; write [delay.NAME] with its keys below", place, key);
  }
  const std::string name(key.substr(0, dot));
  if (auto checked = check_queue_name(name); !checked.ok()) return fmt::format("{}: {}", place, checked.error().message);
  DelayQueueConfig& queue = queues_[name];
  queue.relay.queue = name;
  if (type == "table") return "";
  const std::string setting_name(key.substr(dot + 1));
  const auto found = std::ranges::find(delay_settings(), setting_name, &DelaySetting::key);
  if (found == delay_settings().end()) {
    std::vector<std::string> names;
    for (const DelaySetting& each : delay_settings()) names.push_back(each.key);
    const auto nearest = nearest_of(setting_name, names);
    return fmt::format("{}: unknown key delay.{}{}", place, key,
                       nearest ? fmt::format("; did you mean {}?", *nearest) : "");
  }
  const std::string_view expected = found->kind == SettingKind::kBool ? "boolean" : "string";
  if (type != expected) {
    return fmt::format("{}: delay.{} is of type {}; write it like this: {} = {}", place, key, type, found->key,
                       value_of(*found, {}));
  }
  if (auto read = found->read(queue, value); !read.ok()) {
    return fmt::format("{}: delay.{} = {} {}; give {}", place, key, quote(value), read.error().message, found->allowed);
  }
  return "";
}

bool DelayReading::is_variable(std::string_view name) { return name.starts_with(kVariablePrefix); }

std::string DelayReading::take_variable(const std::string& name, const std::string& value) {
  std::string setting = name.substr(kVariablePrefix.size());
  std::ranges::transform(setting, setting.begin(), [](unsigned char c) {
    return c == '_' ? '.' : static_cast<char>(std::tolower(c));
  });
  if (auto checked = check_kafka_setting(setting, value); !checked.ok()) {
    return fmt::format("{}: kafka.{} {}", name, setting, checked.error().message);
  }
  kafka_[setting] = value;
  return "";
}

DelayConfig DelayReading::finish(std::vector<std::string>& faults) const {
  DelayConfig config{.queues = {}, .kafka = kafka_};
  if (queues_.size() > kMaxConfiguredDelayQueues) {
    faults.push_back(fmt::format("there are {} delay queues; give at most {}", queues_.size(), kMaxConfiguredDelayQueues));
  }
  std::map<std::pair<std::string, std::string>, std::string> readers;
  const bool has_servers = kafka_.contains(std::string(kServers));
  for (const auto& [name, given] : queues_) {
    DelayQueueConfig queue = given;
    if (queue.group.empty()) queue.group = "horae-" + name;
    check_queue(queue, has_servers, faults);
    if (!queue.relay.input.empty()) {
      const auto [other, is_new] = readers.emplace(std::pair(queue.relay.input, queue.group), name);
      if (!is_new) {
        faults.push_back(fmt::format("delay.{}: delay.{} reads topic {} in group {} as well; each would get a part of it",
                                     name, other->second, queue.relay.input, queue.group));
      }
    }
    config.queues.push_back(std::move(queue));
  }
  return config;
}

std::string print_delay_config(const DelayConfig& config) {
  std::string text;
  if (!config.kafka.empty()) text += "\n[kafka]\n# Settings of librdkafka.\n";
  for (const auto& [name, value] : config.kafka) {
    if (is_secret_kafka_setting(name)) {
      text += fmt::format("# {} is set, and is not printed.\n", name);
    } else {
      text += fmt::format("{} = {}\n", quoted(name), quoted(value));
    }
  }
  for (const DelayQueueConfig& queue : config.queues) {
    text += fmt::format("\n[delay.{}]\n", quoted(queue.relay.queue));
    for (const DelaySetting& setting : delay_settings()) {
      const std::string value = setting.write(queue);
      if (!value.empty()) text += fmt::format("{} = {}\n", setting.key, value_of(setting, queue));
    }
  }
  return text;
}

std::string delay_config_document() {
  std::string text = R"(
### `[kafka]`

Settings of librdkafka by its own names, for all delay queues: `"bootstrap.servers" = "kafka-1:9092,kafka-2:9092"`,
`"security.protocol" = "sasl_ssl"`, `"sasl.password" = "..."` and so on. In the environment, `HORAE_KAFKA_SASL_PASSWORD` is
`sasl.password`; that keeps a secret out of the file. Settings on which it rests that no message is lost are refused by
name: those of offsets, acknowledgements, idempotence and the partitioner, `group.id`, `message.timeout.ms`.

### `[delay.NAME]`

One table for each delay queue, up to 64, in the file only: all nodes of a cluster have the same ones. A queue has an
`output` or a `webhook`. With the embedded store, one node serves them.

| key | default | allowed | what it does |
|---|---|---|---|
)";
  for (const DelaySetting& setting : delay_settings()) {
    const std::string value = setting.write({});
    text += fmt::format("| `{}` | {} | {} | {} |\n", setting.key,
                        value.empty() ? "none" : fmt::format("`{}`", value_of(setting, {})), setting.allowed, setting.help);
  }
  return text;
}

}  // namespace horae
