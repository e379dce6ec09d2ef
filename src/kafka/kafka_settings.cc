#include "kafka/kafka_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/quote.h"
#include "kafka/kafka_conf.h"

namespace horae {
namespace {

struct Refused {
  std::string_view name;
  std::string_view why;
};

constexpr std::string_view kOffsets = "offsets are stored once a message is durable, and not before";
constexpr std::string_view kAcknowledged = "a message is published once all in-sync replicas have it";
constexpr std::string_view kOfTheQueue = "it belongs to the delay queue: [delay.NAME]";
constexpr std::string_view kTimeout = "it follows from hold_time, so that nothing is published after a takeover";
constexpr std::string_view kEager = "partitions are handed over as a whole, after their offsets are committed";
constexpr std::string_view kNotUsed = "Horae does not use it";

constexpr std::array kRefused = {
    Refused{"enable.auto.offset.store", kOffsets},
    Refused{"enable.auto.commit", kOffsets},
    Refused{"auto.commit.enable", kOffsets},
    Refused{"offset.store.method", kOffsets},
    Refused{"offset.store.path", kOffsets},
    Refused{"offset.store.sync.interval.ms", kOffsets},
    Refused{"auto.offset.reset", "a new group or partition is read from its beginning, or messages would be lost"},
    Refused{"partition.assignment.strategy", kEager},
    Refused{"group.id", kOfTheQueue},
    Refused{"group.instance.id", "a node has a new identity at each start"},
    Refused{"enable.partition.eof", kNotUsed},
    Refused{"max.poll.interval.ms", "a node that stalls must lose its partitions"},
    Refused{"allow.auto.create.topics", "a missing topic is reported, not made"},
    Refused{"enable.idempotence", kAcknowledged},
    Refused{"acks", kAcknowledged},
    Refused{"request.required.acks", kAcknowledged},
    Refused{"max.in.flight", kAcknowledged},
    Refused{"max.in.flight.requests.per.connection", kAcknowledged},
    Refused{"message.send.max.retries", kAcknowledged},
    Refused{"retries", kAcknowledged},
    Refused{"enable.gapless.guarantee", kAcknowledged},
    Refused{"delivery.report.only.error", kAcknowledged},
    Refused{"message.timeout.ms", kTimeout},
    Refused{"delivery.timeout.ms", kTimeout},
    Refused{"partitioner", "a key must reach the partition to which Java's producers send it"},
    Refused{"transactional.id", kNotUsed},
    Refused{"transaction.timeout.ms", kNotUsed},
    Refused{"client.id", "it is the name of the node"},
    Refused{"message.max.bytes", "the broker decides what is too large"},
};

constexpr std::array<std::string_view, 5> kSecrets = {"password", "secret", "key.pem", "token",
                                                      "sasl.oauthbearer.config"};

}  // namespace

bool is_secret_kafka_setting(std::string_view name) {
  return std::ranges::any_of(kSecrets, [name](std::string_view part) { return name.find(part) != name.npos; });
}

Result<void> check_kafka_setting(const std::string& name, const std::string& value) {
  const auto refused = std::ranges::find(kRefused, name, &Refused::name);
  if (refused != kRefused.end()) return Error{ErrorCode::kRefused, fmt::format("cannot be set: {}", refused->why)};
  const KafkaConf conf(rd_kafka_conf_new());
  return set_kafka_conf(conf.get(), name, value);
}

}  // namespace horae
