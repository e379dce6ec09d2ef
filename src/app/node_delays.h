// The delay queues of a node, connected to Kafka and webhooks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/delay_check.h"
#include "app/delay_config.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/meter.h"
#include "base/random.h"
#include "base/waker.h"
#include "engine/relay/relay_set.h"
#include "engine/runner.h"
#include "kafka/kafka_sink.h"
#include "kafka/kafka_source.h"

namespace horae {

// A missing topic or broker does not fail the start: the status says so, and the queue starts by itself.
//
// start() and stop() from one thread; relays() is thread-safe.
class NodeDelays {
 public:
  // All references must outlive it. `owner` names the node.
  NodeDelays(MessageStore& store, const Clock& clock, Random& random, const DelayConfig& config,
             const std::string& owner, const Logger& log, Meter& meter);
  ~NodeDelays();
  NodeDelays(const NodeDelays&) = delete;
  NodeDelays& operator=(const NodeDelays&) = delete;

  void start();

  // Gives back what is not due, waits for acknowledgements for the grace time at most, commits offsets and leaves the
  // groups. True if nothing was left behind; other nodes take over what was. May be called twice.
  bool stop(Duration grace);

  RelaySet& relays() { return relays_; }

 private:
  RelayEnds connect(const DelayQueueConfig& queue, const RelayWakes& wakes);
  std::unique_ptr<KafkaSink> topic(const std::string& name, const DelayQueueConfig& queue, const RelayWakes& wakes);

  const Clock& clock_;
  const DelayConfig config_;
  const std::string owner_;
  const Logger log_;
  std::vector<KafkaSource*> sources_;  // owned by relays_
  std::vector<KafkaSink*> sinks_;      // owned by relays_
  RelaySet relays_;
  Waker check_waker_;
  DelayCheck check_;
  Runner checker_;
  bool is_started_ = false;
};

}  // namespace horae
