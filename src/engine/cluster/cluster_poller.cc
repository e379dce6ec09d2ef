#include "engine/cluster/cluster_poller.h"

#include <utility>

#include "base/mutant.h"

namespace horae {

ClusterPoller::ClusterPoller(ClusterStore& cluster, Logger log, NodeRecord self, ClusterPollerSignals signals,
                             ClusterPollerOptions options)
    : cluster_(cluster),
      log_(std::move(log)),
      signals_(std::move(signals)),
      options_(options),
      self_(std::move(self)) {}

void ClusterPoller::set_address(std::string address) {
  const std::lock_guard lock(mutex_);
  self_.address = std::move(address);
}

void ClusterPoller::set_wants_events(bool wants_events) {
  const std::lock_guard lock(mutex_);
  wants_events_ = wants_events;
}

TickWish ClusterPoller::wish() {
  TickWish wish{.self = {}, .wants_events = false, .awaited = signals_.awaited()};
  const std::lock_guard lock(mutex_);
  wish.self = self_;
  wish.wants_events = wants_events_;
  return wish;
}

MonotonicTime ClusterPoller::run_once(MonotonicTime now) {
  const auto tick = cluster_.tick(wish());
  if (!tick.ok()) {
    log_.warn("cannot poll for the work of other nodes", {{"reason", tick.error().message}});
    return now + options_.poll;
  }
  const Duration next_poll = signals_.is_deaf() ? options_.poll_deaf : options_.poll;
  const bool is_due = tick->next_due_in && *tick->next_due_in <= next_poll;
  if (is_due && !HORAE_MUTANT("uncapped_sleep")) signals_.due();
  if (!tick->ready.empty() && !HORAE_MUTANT("never_polls")) signals_.ready(tick->ready);
  signals_.ticked(*tick, now);
  return now + next_poll;
}

}  // namespace horae
