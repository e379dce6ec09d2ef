// Looks for what endangers delay queues while the node runs, and warns in the log.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "app/delay_config.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/loop.h"
#include "engine/relay/relay_set.h"
#include "kafka/kafka_admin.h"

namespace horae {

// Beyond this, the clocks of node and store are further apart than the deadlines of applications allow.
inline constexpr Duration kMostClockOffset = std::chrono::milliseconds(200);

// Topics that may lose messages, and clocks that are apart: each is logged once. A broker that does not answer is asked
// again; that it does not is reported by the queue itself.
class DelayCheck final : public Loop {
 public:
  // All references must outlive the loop.
  DelayCheck(const DelayConfig& config, const RelaySet& relays, const Clock& clock, const Logger& log);

  std::string_view name() const override { return "delay check"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  void look(const std::string& topic, TopicRole role);
  void check_clocks();
  void warn_once(const std::string& warning);

  const DelayConfig& config_;
  const RelaySet& relays_;
  const Clock& clock_;
  const Logger log_;
  std::optional<KafkaAdmin> admin_;  // while topics remain to be looked at
  std::set<std::string> looked_;     // topics
  std::set<std::string> warned_;
};

}  // namespace horae
