#include "app/delay_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "app/nearest.h"
#include "base/duration.h"
#include "base/json_text.h"
#include "base/quote.h"
#include "model/task.h"
#include "net/address_policy.h"

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
          .read = [check, member](DelayQueueConfig& queue, const std::vector<std::string>& items) -> Result<void> {
            if (auto checked = check(items.front()); !checked.ok()) return checked;
            member(queue) = items.front();
            return {};
          },
          .write =
              [member](const DelayQueueConfig& queue) {
                DelayQueueConfig copy = queue;
                return std::vector{member(copy)};
              }};
}

// Bounds are checked with the queue as a whole: faults_of().
DelaySetting duration_setting(const Texts& texts, std::string allowed, const DurationMember& member) {
  return {.key = texts.key,
          .kind = SettingKind::kDuration,
          .help = texts.help,
          .allowed = std::move(allowed),
          .seeds = texts.seeds,
          .read = [member](DelayQueueConfig& queue, const std::vector<std::string>& items) -> Result<void> {
            const auto duration = parse_duration(items.front());
            if (!duration.ok()) return duration.error();
            member(queue) = *duration;
            return {};
          },
          .write =
              [member](const DelayQueueConfig& queue) {
                DelayQueueConfig copy = queue;
                return std::vector{format_duration(member(copy))};
              }};
}

DelaySetting advance_setting() {
  return {.key = "timing_advance",
          .kind = SettingKind::kText,
          .help =
              "How long before its deadline a message is published. \"auto\" learns it from the time that publishing "
              "takes.",
          .allowed = "0s to 200ms, or auto",
          .seeds = "Chronos: timing advance",
          .read = [](DelayQueueConfig& queue, const std::vector<std::string>& items) -> Result<void> {
            if (items.front() == kAuto) {
              queue.relay.timing_advance.reset();
              return {};
            }
            const auto duration = parse_duration(items.front());
            if (!duration.ok()) return duration.error();
            queue.relay.timing_advance = *duration;
            return {};
          },
          .write =
              [](const DelayQueueConfig& queue) {
                const auto advance = queue.relay.timing_advance;
                return std::vector{advance ? format_duration(*advance) : std::string(kAuto)};
              }};
}

DelaySetting networks_setting() {
  return {.key = "webhook_networks",
          .kind = SettingKind::kList,
          .help =
              "Networks beyond the public internet to which the webhook may lead. Loopback, private, link-local and "
              "metadata addresses are refused otherwise, at every connect.",
          .allowed = "addresses and networks: 127.0.0.1, 10.0.0.0/8, fd00::/8",
          .seeds = "",
          .read = [](DelayQueueConfig& queue, const std::vector<std::string>& items) -> Result<void> {
            if (const auto policy = AddressPolicy::allowing(items); !policy.ok()) return policy.error();
            queue.webhook_networks = items;
            return {};
          },
          .write = [](const DelayQueueConfig& queue) { return queue.webhook_networks; }};
}

std::vector<DelaySetting> make_delay_settings() {
  return {
      text_setting({"input", "Topic from which messages are read. Without it, messages come by REST alone.",
                    "Chronos: Kafka input topic name"},
                   "a topic", check_topic, [](DelayQueueConfig& q) -> std::string& { return q.relay.input; }),
      text_setting(
          {"output", "Topic to which messages are published at their deadline.", "Chronos: Kafka output topic name"},
          "a topic", check_topic, [](DelayQueueConfig& q) -> std::string& { return q.output; }),
      text_setting({"group", "Consumer group in which the nodes read the input. By default horae-NAME."}, "a group",
                   check_some, [](DelayQueueConfig& q) -> std::string& { return q.group; }),
      text_setting(
          {"dead_letter",
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
      networks_setting(),
  };
}

std::string quoted(const std::string& text) {
  std::string result;
  append_json_string(result, text);
  return result;
}

std::string value_of(const DelaySetting& setting, const DelayQueueConfig& queue) {
  return to_toml(setting.kind, setting.write(queue));
}

// Without a value, and without a default.
bool is_empty(const DelaySetting& setting, const DelayQueueConfig& queue) {
  const auto items = setting.write(queue);
  return items.empty() || (setting.kind == SettingKind::kText && items.front().empty());
}

// What is wrong with one queue as a whole.
void check_queue(const DelayQueueConfig& queue, bool has_servers, std::vector<std::string>& faults) {
  const auto note = [&](std::string_view fault) {
    faults.push_back(fmt::format("delay.{}: {}", queue.relay.queue, fault));
  };
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

std::string DelayReading::take(const FileEntry& entry) {
  return entry.key.starts_with(kDelayPrefix) ? take_queue_key(entry) : take_kafka_key(entry);
}

std::string DelayReading::take_kafka_key(const FileEntry& entry) {
  constexpr std::array<std::string_view, 4> kTypes = {"string", "integer", "boolean", "floating-point"};
  if (std::ranges::find(kTypes, entry.type) == kTypes.end()) {
    return fmt::format("{}: {} is of type {}; give a text, a number or true or false", entry.place, entry.key,
                       entry.type);
  }
  const std::string name = entry.key.substr(kKafkaPrefix.size());
  if (auto checked = check_kafka_setting(name, entry.items.front()); !checked.ok()) {
    return fmt::format("{}: {} {}", entry.place, entry.key, checked.error().message);
  }
  kafka_[name] = entry.items.front();
  return "";
}

std::string DelayReading::take_queue_key(const FileEntry& entry) {
  const std::string key = entry.key.substr(kDelayPrefix.size());
  // A name may have dots, a key has none.
  const bool is_table = entry.type == "table";
  const std::size_t dot = is_table ? key.size() : key.rfind('.');
  if (dot == std::string::npos) {
    return fmt::format("{}: {} is no table; write [delay.NAME] with its keys below", entry.place, entry.key);
  }
  const std::string name = key.substr(0, dot);
  if (auto checked = check_queue_name(name); !checked.ok()) {
    return fmt::format("{}: {}", entry.place, checked.error().message);
  }
  DelayQueueConfig& queue = queues_[name];
  queue.relay.queue = name;
  if (is_table) return "";
  const auto found = std::ranges::find(delay_settings(), key.substr(dot + 1), &DelaySetting::key);
  if (found == delay_settings().end()) {
    std::vector<std::string> names;
    for (const DelaySetting& each : delay_settings()) names.push_back(each.key);
    const auto nearest = nearest_of(key.substr(dot + 1), names);
    return fmt::format("{}: unknown key {}{}", entry.place, entry.key,
                       nearest ? fmt::format("; did you mean {}?", *nearest) : "");
  }
  if (!is_written_so(entry, found->kind)) {
    return fmt::format("{}: {} is of type {}; write it like this: {} = {}", entry.place, entry.key, entry.type,
                       found->key, value_of(*found, {}));
  }
  if (auto read = found->read(queue, entry.items); !read.ok()) {
    return fmt::format("{}: {} = {} {}; give {}", entry.place, entry.key,
                       quote(fmt::format("{}", fmt::join(entry.items, ","))), read.error().message, found->allowed);
  }
  return "";
}

bool DelayReading::is_variable(std::string_view name) { return name.starts_with(kVariablePrefix); }

std::string DelayReading::take_variable(const std::string& name, const std::string& value) {
  std::string setting = name.substr(kVariablePrefix.size());
  std::ranges::transform(setting, setting.begin(),
                         [](unsigned char c) { return c == '_' ? '.' : static_cast<char>(std::tolower(c)); });
  if (auto checked = check_kafka_setting(setting, value); !checked.ok()) {
    return fmt::format("{}: kafka.{} {}", name, setting, checked.error().message);
  }
  kafka_[setting] = value;
  return "";
}

DelayConfig DelayReading::finish(std::vector<std::string>& faults) const {
  DelayConfig config{.queues = {}, .kafka = kafka_};
  if (queues_.size() > kMaxConfiguredDelayQueues) {
    faults.push_back(
        fmt::format("there are {} delay queues; give at most {}", queues_.size(), kMaxConfiguredDelayQueues));
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
        faults.push_back(
            fmt::format("delay.{}: delay.{} reads topic {} in group {} as well; each would get a part of it", name,
                        other->second, queue.relay.input, queue.group));
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
      if (!is_empty(setting, queue)) text += fmt::format("{} = {}\n", setting.key, value_of(setting, queue));
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
    text += fmt::format("| `{}` | {} | {} | {} |\n", setting.key,
                        is_empty(setting, {}) ? "none" : fmt::format("`{}`", value_of(setting, {})), setting.allowed,
                        setting.help);
  }
  return text;
}

}  // namespace horae
