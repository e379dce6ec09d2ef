// What a cluster of Kafka says about topics: for `horae doctor` and the warnings at the start of a node.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "kafka/kafka_settings.h"

namespace horae {

struct TopicFacts {
  int partitions = 0;
  std::optional<int> min_insync_replicas;  // nothing where the cluster does not say
  std::optional<bool> unclean_leader_election;
  std::string cleanup_policy;  // "delete", "compact", "compact,delete"
};

enum class TopicRole { kInput, kOutput, kDeadLetter };

// What may lose messages, or will, each with what to change; empty if nothing does.
std::vector<std::string> topic_warnings(const std::string& topic, TopicRole role, const TopicFacts& facts);

// Asks and changes nothing.
//
// Not thread-safe: one thread at a time.
class KafkaAdmin {
 public:
  // The clock must outlive it. kMalformed if the settings contradict each other.
  static Result<KafkaAdmin> open(const KafkaSettings& settings, const Clock& clock, const Logger& log);

  KafkaAdmin(KafkaAdmin&&) noexcept;
  KafkaAdmin& operator=(KafkaAdmin&&) noexcept;
  ~KafkaAdmin();

  // kNotFound if there is no such topic; kUnavailable if no broker answers within `timeout`.
  Result<TopicFacts> look(const std::string& topic, Duration timeout);

 private:
  struct Parts;
  explicit KafkaAdmin(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace horae
