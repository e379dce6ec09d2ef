#include "engine/lifecycle/monitor.h"

#include <algorithm>

#include "base/mutant.h"
#include "base/uuid.h"

namespace horae {

MonotonicTime Monitor::run_once(MonotonicTime now) {
  const auto seen = tasks_.look();
  if (!seen.ok()) {
    log_.warn("cannot read the state of the leases", {{"reason", seen.error().message}});
    return now + (HORAE_MUTANT("monitor_gives_up") ? std::chrono::hours(10'000) : options_.poll);
  }
  const Change change = note({seen->now, now, seen->has_leases});
  const bool begins = !seen->stamp || change.begins;
  if (!seen->has_leases) return now + options_.idle_poll;

  if (change.has_jumped) {
    extend(*seen, "the store's clock jumped", LogLevel::kWarn);
  } else if (!seen->stamp ||
             (seen->now - *seen->stamp > options_.silence && !HORAE_MUTANT("outage_is_the_workers_fault"))) {
    extend(*seen, "no monitor ran for too long", begins ? LogLevel::kDebug : LogLevel::kWarn);
  } else if (expire(*seen)) {
    return now;
  }
  return now + std::min(options_.poll, seen->next_expiry_in.value_or(options_.poll) + std::chrono::milliseconds(1));
}

Monitor::Change Monitor::note(const Reading& present) {
  const std::lock_guard lock(mutex_);
  const Change change{.has_jumped = has_jumped(present), .begins = begins_with(present)};
  last_ = present;
  is_asleep_ = !present.has_leases;
  return change;
}

bool Monitor::on_tick(const Tick& tick, MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  if (tick.has_leases) return is_asleep_;
  // Every lease begins after this moment: earlier jumps of the clock do not concern it.
  if (last_ && now >= last_->own) last_ = Reading{tick.now, now, false};
  return false;
}

bool Monitor::has_jumped(const Reading& present) const {
  if (!last_) return false;
  const Duration by_store = present.store - last_->store;
  const Duration by_own = present.own - last_->own;
  return std::chrono::abs(by_store - by_own) > options_.largest_jump;
}

// No monitor stamps while nothing is leased, so the first lease after that finds an old stamp: that is no outage.
bool Monitor::begins_with(const Reading& present) const {
  return last_ && !last_->has_leases && present.own - last_->own <= options_.silence;
}

void Monitor::extend(const Watch& seen, std::string_view why, LogLevel level) {
  const auto extended = tasks_.extend_leases(seen.stamp);
  if (!extended.ok()) {
    log_.warn("cannot extend the leases", {{"reason", extended.error().message}});
  } else if (*extended && level == LogLevel::kWarn) {
    log_.warn("extended all leases", {{"because", why}});
  } else if (*extended) {
    log_.debug("extended all leases", {{"because", why}});
  }
}

bool Monitor::expire(const Watch& seen) {
  const auto outcome = tasks_.expire_leases({.seen = seen.stamp, .silence = options_.silence, .max = options_.batch});
  if (!outcome.ok()) {
    log_.warn("cannot expire leases", {{"reason", outcome.error().message}});
    return false;
  }
  for (const ExpiredLease& each : outcome->expired) {
    log_.warn("lease expired", {{std::string(kTaskField), to_string(each.id)},
                                {"attempt", each.attempt},
                                {"owner", each.owner},
                                {"state", std::string(to_string(each.state))}});
  }
  return outcome->expired.size() == options_.batch;
}

}  // namespace horae
