#include "kafka/kafka_admin.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <utility>

#include "kafka/kafka_conf.h"

namespace horae {
namespace {

using ConfigResource = std::unique_ptr<rd_kafka_ConfigResource_t, KafkaDeleter<rd_kafka_ConfigResource_destroy>>;
using AdminOptions = std::unique_ptr<rd_kafka_AdminOptions_t, KafkaDeleter<rd_kafka_AdminOptions_destroy>>;

std::map<std::string, std::string> values_of(const rd_kafka_event_t& event) {
  const auto* result = rd_kafka_event_DescribeConfigs_result(const_cast<rd_kafka_event_t*>(&event));
  std::size_t resources = 0;
  const auto** all = rd_kafka_DescribeConfigs_result_resources(result, &resources);
  std::map<std::string, std::string> values;
  if (resources == 0) return values;
  std::size_t count = 0;
  const auto** entries = rd_kafka_ConfigResource_configs(all[0], &count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    if (value != nullptr) values[rd_kafka_ConfigEntry_name(entries[i])] = value;
  }
  return values;
}

std::optional<int> number_of(const std::map<std::string, std::string>& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) return std::nullopt;
  int number = 0;
  const std::string& text = found->second;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<std::string> topic_warnings(const std::string& topic, TopicRole role, const TopicFacts& facts) {
  std::vector<std::string> warnings;
  if (facts.unclean_leader_election.value_or(false)) {
    warnings.push_back(
        fmt::format("topic {}: unclean.leader.election.enable is true, so a replica that lags may become the "
                    "leader, and acknowledged messages are lost; set it to false",
                    topic));
  }
  if (facts.min_insync_replicas.value_or(2) < 2) {
    warnings.push_back(
        fmt::format("topic {}: min.insync.replicas is {}, so a message is acknowledged while a single broker "
                    "has it; set it to 2, with 3 replicas",
                    topic, *facts.min_insync_replicas));
  }
  if (role == TopicRole::kInput && facts.cleanup_policy.find("compact") != std::string::npos) {
    warnings.push_back(
        fmt::format("topic {}: cleanup.policy is {}, so Kafka drops messages with the key of a later one, "
                    "also before they are read; set it to delete",
                    topic, facts.cleanup_policy));
  }
  return warnings;
}

struct KafkaAdmin::Parts {
  Parts(const Logger& log, const Clock& clock) : owner(log, clock, nullptr) {}

  KafkaOwner owner;
  KafkaHandle client;  // ends before its owner
};

KafkaAdmin::KafkaAdmin(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
KafkaAdmin::KafkaAdmin(KafkaAdmin&&) noexcept = default;
KafkaAdmin& KafkaAdmin::operator=(KafkaAdmin&&) noexcept = default;
KafkaAdmin::~KafkaAdmin() = default;

Result<KafkaAdmin> KafkaAdmin::open(const KafkaSettings& settings, const Clock& clock, const Logger& log) {
  auto parts = std::make_unique<Parts>(log, clock);
  auto conf = make_kafka_conf(parts->owner, {.given = settings, .defaults = {}, .fixed = {}});
  if (!conf.ok()) return conf.error();
  auto client = make_kafka_client(RD_KAFKA_PRODUCER, std::move(*conf));
  if (!client.ok()) return client.error();
  parts->client = std::move(*client);
  return KafkaAdmin(std::move(parts));
}

Result<TopicFacts> KafkaAdmin::look(const std::string& topic, Duration timeout) {
  rd_kafka_t* client = parts_->client.get();
  TopicFacts facts;
  {
    const KafkaTopic handle(rd_kafka_topic_new(client, topic.c_str(), nullptr));
    const rd_kafka_metadata_t* raw = nullptr;
    const auto failed = rd_kafka_metadata(client, 0, handle.get(), &raw, to_kafka_ms(timeout));
    if (failed != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return Error{ErrorCode::kUnavailable, fmt::format("no Kafka broker answers: {}", rd_kafka_err2str(failed))};
    }
    const KafkaMetadata metadata(raw);
    if (metadata->topic_cnt == 0 || metadata->topics[0].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
      return Error{ErrorCode::kNotFound, fmt::format("topic {} does not exist; create it", topic)};
    }
    facts.partitions = metadata->topics[0].partition_cnt;
  }
  const ConfigResource resource(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  const AdminOptions options(rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  (void)rd_kafka_AdminOptions_set_request_timeout(options.get(), to_kafka_ms(timeout), nullptr, 0);
  const KafkaQueue answers(rd_kafka_queue_new(client));
  rd_kafka_ConfigResource_t* asked = resource.get();
  rd_kafka_DescribeConfigs(client, &asked, 1, options.get(), answers.get());
  const KafkaEvent event(rd_kafka_queue_poll(answers.get(), to_kafka_ms(timeout)));
  // A user may lack the permission to describe: then these facts are not known.
  if (event == nullptr || rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) return facts;
  const auto values = values_of(*event);
  facts.min_insync_replicas = number_of(values, "min.insync.replicas");
  if (const auto found = values.find("unclean.leader.election.enable"); found != values.end()) {
    facts.unclean_leader_election = found->second == "true";
  }
  if (const auto found = values.find("cleanup.policy"); found != values.end()) facts.cleanup_policy = found->second;
  return facts;
}

}  // namespace horae
