#include "engine/lifecycle/monitor.h"

#include <algorithm>

#include "base/mutant.h"
#include "base/uuid.h"

namespace horae {

MonotonicTime Monitor::run_once(MonotonicTime now) {
  if (is_draining_) return now + options_.idle_poll;
  const Duration slack = note_delay(now);
  has_failed_ = false;
  const MonotonicTime next = pass(now, slack);
  planned_ = has_failed_ ? std::nullopt : std::optional(next);
  return next;
}

// The shortest of the last delays is the usual one: it is that of a slow store, and not of an outage. What failed may have
// waited long for the store, and does not count.
Duration Monitor::note_delay(MonotonicTime now) {
  const Duration usual = *std::ranges::min_element(delays_);
  if (planned_) delays_[next_delay_++ % kDelays] = std::max(now - *planned_, Duration::zero());
  return options_.shortest_poll + 2 * usual;
}

MonotonicTime Monitor::pass(MonotonicTime now, Duration slack) {
  const auto seen = tasks_.look();
  if (!seen.ok()) {
    has_failed_ = true;
    log_.warn("cannot read the state of the leases", {{"reason", seen.error().message}});
    return now + (HORAE_MUTANT("monitor_gives_up") ? std::chrono::hours(10'000) : options_.poll);
  }
  const Change change = note({seen->now, now, seen->has_leases});
  const bool begins = !seen->stamp || change.begins;
  if (!seen->has_leases) return now + options_.idle_poll;

  if (change.has_jumped) {
    extend(*seen, "the store's clock jumped", LogLevel::kWarn);
  } else if (!seen->stamp) {
    extend(*seen, "no monitor ran before", LogLevel::kDebug);
  } else if (expire(*seen, slack, begins)) {
    return now;
  }
  const Duration left = seen->next_expiry_in.value_or(options_.poll);
  const Duration often = std::min(options_.poll, std::max(left / 4, options_.shortest_poll));
  return now + std::min(often, left + std::chrono::milliseconds(1));
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
  return last_ && !last_->has_leases && present.own - last_->own <= 2 * options_.poll;
}

void Monitor::extend(const Watch& seen, std::string_view why, LogLevel level) {
  const auto extended = tasks_.extend_leases(seen.stamp);
  if (!extended.ok()) {
    has_failed_ = true;
    log_.warn("cannot extend the leases", {{"reason", extended.error().message}});
  } else if (*extended && level == LogLevel::kWarn) {
    log_.warn("extended all leases", {{"because", why}});
  } else if (*extended) {
    log_.debug("extended all leases", {{"because", why}});
  }
}

bool Monitor::expire(const Watch& seen, Duration slack, bool begins) {
  if (HORAE_MUTANT("short_leases_pay_for_outages")) slack = 3 * options_.poll;
  const auto outcome = tasks_.expire_leases({.seen = seen.stamp, .slack = slack, .max = options_.batch});
  if (!outcome.ok()) {
    has_failed_ = true;
    log_.warn("cannot expire leases", {{"reason", outcome.error().message}});
    return false;
  }
  if (outcome->extended) {
    const bool was_long = !begins && seen.now - *seen.stamp > 2 * options_.poll;
    const LogField why{"because", "no monitor ran for too long"};
    was_long ? log_.warn("extended leases", {why}) : log_.debug("extended leases", {why});
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
