#include "app/node_delays.h"

#include "engine/webhook/webhook_sink.h"

namespace horae {

NodeDelays::NodeDelays(MessageStore& store, const Clock& clock, Random& random, const DelayConfig& config,
                       const std::string& owner, const Logger& log, Meter& meter)
    : clock_(clock),
      config_(config),
      owner_("horae-" + owner),
      log_(log),
      relays_(store, clock, random, log, meter),
      check_(config_, relays_, clock, log),
      checker_(clock, log) {
  for (const DelayQueueConfig& queue : config_.queues) {
    relays_.add(queue.relay, [&](const RelayWakes& wakes) { return connect(queue, wakes); });
  }
  if (!config_.queues.empty()) checker_.add(check_, check_waker_);
}

NodeDelays::~NodeDelays() { stop({}); }

RelayEnds NodeDelays::connect(const DelayQueueConfig& queue, const RelayWakes& wakes) {
  RelayEnds ends;
  if (!queue.relay.input.empty()) {
    auto source = std::make_unique<KafkaSource>(
        KafkaSourceOptions{
            .topic = queue.relay.input, .group = queue.group, .client_id = owner_, .settings = config_.kafka},
        clock_, log_, wakes.intake);
    sources_.push_back(source.get());
    ends.source = std::move(source);
  }
  if (queue.webhook.empty()) {
    ends.output = topic(queue.output, queue, wakes);
  } else {
    // The configuration has read the networks once.
    auto policy = AddressPolicy::allowing(queue.webhook_networks).value();
    ends.output = std::make_unique<WebhookSink>(
        WebhookSinkOptions{.url = queue.webhook, .timeout = queue.relay.hold_time / 2, .policy = std::move(policy)},
        clock_, wakes.firing);
  }
  if (!queue.dead_letter.empty()) ends.dead_letters = topic(queue.dead_letter, queue, wakes);
  return ends;
}

std::unique_ptr<KafkaSink> NodeDelays::topic(const std::string& name, const DelayQueueConfig& queue,
                                             const RelayWakes& wakes) {
  auto sink = std::make_unique<KafkaSink>(
      KafkaSinkOptions{
          .topic = name, .client_id = owner_, .timeout = queue.relay.hold_time / 2, .settings = config_.kafka},
      clock_, log_, wakes.firing);
  sinks_.push_back(sink.get());
  return sink;
}

void NodeDelays::start() {
  for (KafkaSink* sink : sinks_) sink->start();
  for (KafkaSource* source : sources_) source->start();
  relays_.start();
  checker_.start();
  is_started_ = true;
}

bool NodeDelays::stop(Duration grace) {
  if (!is_started_) return true;
  is_started_ = false;
  checker_.stop();
  const bool is_clean = relays_.stop(grace);
  for (KafkaSource* source : sources_) source->stop();
  for (KafkaSink* sink : sinks_) sink->stop();
  return is_clean;
}

}  // namespace horae
