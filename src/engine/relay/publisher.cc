#include "engine/relay/publisher.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace horae {

std::size_t Publisher::publish(std::vector<Publication>& messages, DeliveryTaker& taker, MonotonicTime now) {
  if (messages.empty()) return 0;
  std::uint64_t first = 0;
  {
    // Before the sink gets them, because a report may arrive before publish() returns.
    const std::lock_guard lock(mutex_);
    first = last_ticket_ + 1;
    for (Publication& message : messages) {
      in_flight_.emplace_hint(in_flight_.end(), ++last_ticket_, InFlight{&taker, message.ticket, now});
      message.ticket = last_ticket_;
    }
  }
  const std::size_t taken = sink_.publish(messages);
  const std::lock_guard lock(mutex_);
  for (std::size_t i = taken; i < messages.size(); ++i) {
    const auto left = in_flight_.find(first + i);
    messages[i].ticket = left->second.ticket;
    in_flight_.erase(left);
  }
  return taken;
}

void Publisher::collect(MonotonicTime now) {
  const std::vector<PublishReport> reports = sink_.take_reports();
  std::vector<std::pair<DeliveryTaker*, std::vector<Delivery>>> deliveries;  // in the order of the reports
  const auto of = [&](DeliveryTaker* taker) -> std::vector<Delivery>& {
    const auto found = std::ranges::find(deliveries, taker, [](const auto& each) { return each.first; });
    return found != deliveries.end() ? found->second : deliveries.emplace_back(taker, std::vector<Delivery>()).second;
  };
  {
    const std::lock_guard lock(mutex_);
    for (const PublishReport& report : reports) {
      const auto found = in_flight_.find(report.ticket);
      if (found == in_flight_.end()) continue;
      const InFlight& sent = found->second;
      of(sent.taker).push_back({sent.ticket, report.end, report.reason, now - sent.since});
      has_answered_ = has_answered_ || report.end == PublishEnd::kPublished || report.end == PublishEnd::kRefused;
      in_flight_.erase(found);
    }
    update_stall(now);
  }
  for (const auto& [taker, list] : deliveries) taker->on_deliveries(list, now);
}

bool Publisher::update_stall(MonotonicTime now) {
  const bool is_waiting = !in_flight_.empty() && now - in_flight_.begin()->second.since > kStall;
  if (!is_stalled_ && is_waiting) has_answered_ = false;
  is_stalled_ = is_waiting || (is_stalled_ && !has_answered_);
  return is_stalled_;
}

bool Publisher::is_stalled(MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  return update_stall(now);
}

bool Publisher::was_stalled() const {
  const std::lock_guard lock(mutex_);
  return is_stalled_;
}

std::size_t Publisher::room(MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  if (!update_stall(now)) return std::numeric_limits<std::size_t>::max();
  return kProbes - std::min(in_flight_.size(), kProbes);
}

std::size_t Publisher::in_flight() const {
  const std::lock_guard lock(mutex_);
  return in_flight_.size();
}

}  // namespace horae
