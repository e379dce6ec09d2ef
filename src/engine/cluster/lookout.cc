#include "engine/cluster/lookout.h"

#include <utility>

#include "base/mutant.h"

namespace horae {

Lookout::Lookout(ClusterStore& cluster, Logger log, NodeRecord self, LookoutSignals signals, LookoutOptions options)
    : cluster_(cluster),
      log_(std::move(log)),
      signals_(std::move(signals)),
      options_(options),
      self_(std::move(self)) {}

void Lookout::set_address(std::string address) {
  const std::lock_guard lock(mutex_);
  self_.address = std::move(address);
}

void Lookout::set_wants_hints(bool wants_hints) {
  const std::lock_guard lock(mutex_);
  wants_hints_ = wants_hints;
}

TickWish Lookout::wish() {
  TickWish wish{.self = {}, .wants_hints = false, .awaited = signals_.awaited()};
  const std::lock_guard lock(mutex_);
  wish.self = self_;
  wish.wants_hints = wants_hints_;
  return wish;
}

MonotonicTime Lookout::run_once(MonotonicTime now) {
  const auto tick = cluster_.tick(wish());
  if (!tick.ok()) {
    log_.warn("cannot look out for other nodes", {{"reason", tick.error().message}});
    return now + options_.poll;
  }
  const Duration next_look = signals_.is_deaf() ? options_.poll_deaf : options_.poll;
  const bool is_due = tick->next_due_in && *tick->next_due_in <= next_look;
  if (is_due && !HORAE_MUTANT("uncapped_sleep")) signals_.due();
  if (!tick->ready.empty() && !HORAE_MUTANT("never_polls")) signals_.ready(tick->ready);
  signals_.ticked(*tick, now);
  return now + next_look;
}

}  // namespace horae
