#include "app/delay_check.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/duration.h"

namespace horae {
namespace {

constexpr Duration kInterval = std::chrono::seconds(5);
constexpr Duration kPatience = std::chrono::seconds(2);

}  // namespace

DelayCheck::DelayCheck(const DelayConfig& config, const RelaySet& relays, const Clock& clock, const Logger& log)
    : config_(config), relays_(relays), clock_(clock), log_(log) {}

MonotonicTime DelayCheck::run_once(MonotonicTime now) {
  check_clocks();
  for (const DelayQueueConfig& queue : config_.queues) {
    look(queue.relay.input, TopicRole::kInput);
    look(queue.output, TopicRole::kOutput);
    look(queue.dead_letter, TopicRole::kDeadLetter);
  }
  admin_.reset();
  return now + kInterval;
}

void DelayCheck::look(const std::string& topic, TopicRole role) {
  if (topic.empty() || looked_.contains(topic)) return;
  if (!admin_) {
    auto opened = KafkaAdmin::open(config_.kafka, clock_, log_);
    if (!opened.ok()) return;
    admin_ = std::move(*opened);
  }
  const auto facts = admin_->look(topic, kPatience);
  if (!facts.ok()) return;
  looked_.insert(topic);
  for (const std::string& warning : topic_warnings(topic, role, *facts)) warn_once(warning);
}

void DelayCheck::check_clocks() {
  for (const RelayStatus& status : relays_.status()) {
    if (!status.clock_offset || std::chrono::abs(*status.clock_offset) <= kMostClockOffset) continue;
    if (!warned_.insert("clocks").second) return;
    log_.warn(
        "the clocks of this node and of the store are apart; synchronize them, because deadlines come from the "
        "clocks of applications",
        {{"offset", format_duration(*status.clock_offset)}});
    return;
  }
}

void DelayCheck::warn_once(const std::string& warning) {
  if (warned_.insert(warning).second) log_.warn(warning);
}

}  // namespace horae
