#include "engine/relay/relay.h"

#include <utility>

#include "base/check.h"

namespace horae {

Relay::Relay(const RelayWorld& world, const RelayOptions& options, RelayEnds ends, const RelayWakes& wakes)
    : ends_(std::move(ends)),
      context_(world, options, *ends_.output, ends_.dead_letters.get(), wakes),
      firing_(context_),
      turn_(context_, firing_),
      recovery_(context_) {
  HORAE_CHECK(faults_of(options).empty(), "check the options of a delay queue first");
  if (ends_.source) intake_.emplace(context_, *ends_.source, firing_, turn_);
}

Relay::Loops Relay::loops() {
  return {.firing = &firing_, .turn = &turn_, .recovery = &recovery_, .intake = intake_ ? &*intake_ : nullptr};
}

void Relay::on_look(MonotonicTime now, const DelayLook& look) {
  if (!look.has_rows) return recovery_.on_idle_look(now, false);
  context_.wake.turn();
}

void Relay::drain() {
  if (intake_) intake_->drain();
  firing_.drain();
  turn_.drain();
}

bool Relay::is_drained() const {
  return (!intake_ || intake_->is_drained()) && context_.holdings.size() == 0 && !context_.holdings.has_lost_answer();
}

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
  if (const auto store_now = context_.store_clock.estimate(now)) {
    status.clock_offset = *store_now - context_.clock.wall_now();
  }
  if (ends_.source) status.source = ends_.source->status();
  status.output = context_.output.status();
  if (context_.dead_letters) status.dead_letters = context_.dead_letters->status();
  return status;
}

}  // namespace horae
