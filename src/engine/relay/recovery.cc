#include "engine/relay/recovery.h"

#include <fmt/format.h>

#include <vector>

#include "base/mutant.h"

namespace horae {
namespace {

constexpr Duration kIdle = std::chrono::minutes(1);  // the turn wakes it
constexpr Duration kCountInterval = std::chrono::seconds(5);
constexpr std::size_t kMostCounted = 10'000;

}  // namespace

MonotonicTime Recovery::run_once(MonotonicTime now) {
  if (context_.is_idle) {
    next_look_ = std::nullopt;
    return now + kIdle;
  }
  if (next_look_ && now < *next_look_) return *next_look_;
  const Duration interval = context_.options.failure_detection_interval;
  const bool has_more = look(now, may_reset(now));
  count(now);
  next_look_ = has_more ? now : now + interval;
  return *next_look_;
}

// A gap in the looks is as bad as a failed one: this node was stopped, or a call took that long.
bool Recovery::may_reset(MonotonicTime now) {
  const RelayOptions& options = context_.options;
  const std::lock_guard lock(mutex_);
  const bool is_gap = last_look_ && now - *last_look_ > options.failure_detection_interval + options.hold_time / 2;
  if (is_gap && !HORAE_MUTANT("outage_is_the_nodes_fault")) quiet_until_ = now + options.hold_time;
  return !quiet_until_ || now >= *quiet_until_;
}

bool Recovery::look(MonotonicTime now, bool resets) {
  const RelayOptions& options = context_.options;
  const auto page = context_.timed([&] {
    return context_.store.stuck({.delay_queue = options.queue,
                                 .hold = options.hold_time,
                                 .advance = context_.advance.value(),
                                 .after = after_,
                                 .max = options.batch});
  });
  if (!page.ok()) {
    after_ = std::nullopt;
    note_failure(page.error(), now);
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    last_look_ = context_.clock.now();
  }
  after_ = resets ? page->next : std::nullopt;
  if (!resets) return false;
  std::vector<Readying> stuck;
  for (const Readying& each : page->messages) {
    const bool is_own = each.readied_by == context_.node && context_.holdings.holds(each);
    if (!is_own) stuck.push_back(each);
  }
  if (!stuck.empty() && !HORAE_MUTANT("never_recovers")) reset(stuck);
  return after_.has_value();
}

void Recovery::reset(const std::vector<Readying>& stuck) {
  const auto done = context_.store.reset(context_.options.queue, stuck);
  const MonotonicTime now = context_.clock.now();
  if (!done.ok()) return note_failure(done.error(), now);
  for (std::size_t i = 0; i < stuck.size(); ++i) {
    if (!(*done)[i]) continue;
    context_.figures.suspected.add();
    if (const auto suppressed = suspicion_limit_.next(now)) {
      const std::string by = to_string(stuck[i].readied_by);
      context_.log.warn(fmt::format("suspected failure of {} for message {}", by, stuck[i].id),
                        {{"suppressed_lines", *suppressed}});
    }
  }
  context_.wake.turn();
}

void Recovery::note_failure(const Error& error, MonotonicTime now) {
  if (!HORAE_MUTANT("outage_is_the_nodes_fault")) {
    const std::lock_guard lock(mutex_);
    quiet_until_ = context_.clock.now() + context_.options.hold_time;
  }
  if (const auto suppressed = log_limit_.next(now)) {
    context_.log.warn("cannot look for messages that are stuck",
                      {{"reason", error.message}, {"suppressed_lines", *suppressed}});
  }
}

void Recovery::on_idle_look(MonotonicTime now, bool has_failed) {
  const std::lock_guard lock(mutex_);
  if (has_failed) {
    quiet_until_ = now + context_.options.hold_time;
  } else {
    last_look_ = now;
    counts_ = {};
    has_counts_ = true;
  }
}

std::optional<MessageCounts> Recovery::counts() const {
  const std::lock_guard lock(mutex_);
  return has_counts_ ? std::optional(counts_) : std::nullopt;
}

void Recovery::count(MonotonicTime now) {
  if (next_count_ && now < *next_count_) return;
  next_count_ = now + kCountInterval;
  const auto counts = context_.store.counts(context_.options.queue, context_.advance.value(), kMostCounted);
  if (!counts.ok()) return;
  const std::lock_guard lock(mutex_);
  counts_ = *counts;
  has_counts_ = true;
}

}  // namespace horae
