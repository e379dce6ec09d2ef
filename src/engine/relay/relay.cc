#include "engine/relay/relay.h"

#include <functional>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace horae {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Relay::Relay(const RelayWorld& world, const RelayOptions& options, RelayEnds ends, const RelayWakes& wakes)
    : ends_(std::move(ends)),
      context_(world, options, *ends_.output, ends_.dead_letters.get(), wakes),
      firing_(context_),
      turn_(context_, firing_),
      recovery_(context_) {
  HORAE_CHECK(faults_of(options).empty(), "check the options of a delay queue first");
  if (ends_.source) intake_.emplace(context_, *ends_.source, firing_, turn_);
  make_gauges(world.meter);
}

void Relay::publish_gauges() const {
  for (const auto& [gauge, read] : gauges_) gauge->set(read());
}

void Relay::make_gauges(Meter& meter) {
  const auto gauge = [&](std::string_view name, std::string_view help, std::function<double()> read) {
    gauges_.emplace_back(&meter.gauge({name, help}, {{"delay_queue", queue()}}), std::move(read));
  };
  const auto counts = [this] { return recovery_.counts().value_or(MessageCounts{}); };
  gauge("horae_delay_waiting", "Messages that wait, as far as they were counted",
        [counts] { return static_cast<double>(counts().waiting); });
  gauge("horae_delay_ready", "Messages that some node is about to fire, as far as they were counted",
        [counts] { return static_cast<double>(counts().ready); });
  gauge("horae_delay_overdue_seconds", "For how long the first waiting message has been overdue",
        [counts] { return seconds(counts().oldest_overdue.value_or(Duration::zero())); });
  gauge("horae_delay_held", "Ready messages that this node answers for",
        [this] { return static_cast<double>(context_.holdings.size()); });
  gauge("horae_delay_pending", "Records that were read and are not done",
        [this] { return intake_ ? static_cast<double>(intake_->pending()) : 0.0; });
  gauge("horae_delay_lag", "Records of the input behind its end, of the partitions of this node",
        [this] { return ends_.source ? static_cast<double>(ends_.source->status().lag.value_or(0)) : 0.0; });
  gauge("horae_delay_advance_seconds", "Timing advance in use", [this] { return seconds(context_.advance.value()); });
  gauge("horae_delay_publish_seconds", "Median time from publish to acknowledgement of the last 10 s",
        [this] { return seconds(context_.advance.publish_times().quantile(0.5).value_or(Duration::zero())); });
  gauge("horae_delay_clock_offset_seconds", "The store's clock against the node's",
        [this] { return seconds(clock_offset().value_or(Duration::zero())); });
  gauge("horae_delay_stalled", "1 while the output does not acknowledge",
        [this] { return context_.output.was_stalled() ? 1.0 : 0.0; });
}

std::optional<Duration> Relay::clock_offset() const {
  const auto store_now = context_.store_clock.estimate(context_.clock.now());
  return store_now ? std::optional<Duration>(*store_now - context_.clock.wall_now()) : std::nullopt;
}

Relay::Loops Relay::loops() {
  return {.firing = &firing_, .turn = &turn_, .recovery = &recovery_, .intake = intake_ ? &*intake_ : nullptr};
}

void Relay::on_look(MonotonicTime now, const DelayLook& look) {
  if (!look.has_rows) return recovery_.on_idle_look(now, false);
  context_.wake.turn();
}

void Relay::drain() {
  context_.holdings.drain();
  if (intake_) intake_->drain();
  firing_.drain();
  turn_.drain();
}

bool Relay::is_drained() const { return (!intake_ || intake_->is_drained()) && context_.holdings.is_empty(); }

RelayStatus Relay::status() const {
  const RelayFigures& figures = context_.figures;
  const RecentDurations& publish_times = context_.advance.publish_times();
  const MonotonicTime now = context_.clock.now();
  RelayStatus status{.queue = queue(), .node = context_.node, .counts = recovery_.counts()};
  status.enqueued = figures.enqueued.total();
  status.repeated = figures.repeated.total();
  status.late = figures.late.total();
  status.fired = figures.fired.total();
  status.failed = figures.failed.total();
  status.dead_lettered = figures.dead_lettered.total();
  status.suspected = figures.suspected.total();
  status.gone = figures.gone.total();
  status.bad = figures.bad_by_reason();
  status.fired_per_second = figures.fired_per_second(now);
  status.lateness_p50 = figures.lateness().quantile(0.5);
  status.lateness_p99 = figures.lateness().quantile(0.99);
  status.lateness_p999 = figures.lateness().quantile(0.999);
  status.publish_p50 = publish_times.quantile(0.5);
  status.publish_p99 = publish_times.quantile(0.99);
  status.advance = context_.advance.value();
  status.held = context_.holdings.size();
  status.pending = intake_ ? intake_->pending() : 0;
  status.is_behind = turn_.is_behind();
  status.is_stalled = context_.output.was_stalled();
  status.clock_offset = clock_offset();
  if (ends_.source) status.source = ends_.source->status();
  status.output = context_.output.status();
  if (context_.dead_letters) status.dead_letters = context_.dead_letters->status();
  return status;
}

}  // namespace horae
