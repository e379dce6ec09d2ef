#include "engine/relay/relay_figures.h"

#include <algorithm>

namespace horae {
namespace {

Counter& counter(Meter& meter, const std::string& queue, std::string_view name, std::string_view help) {
  return meter.counter({name, help}, {{"delay_queue", queue}});
}

Duration::rep second_of(MonotonicTime now) { return now.time_since_epoch() / std::chrono::seconds(1); }

}  // namespace

RelayFigures::RelayFigures(const std::string& queue, Meter& meter)
    : enqueued(counter(meter, queue, "horae_delay_enqueued_total", "Records stored in a delay queue")),
      repeated(counter(meter, queue, "horae_delay_repeated_total", "Records ignored, because their id is there")),
      late(counter(meter, queue, "horae_delay_late_total", "Records past their deadline, published at once")),
      fired(counter(meter, queue, "horae_delay_fired_total", "Messages published and acknowledged")),
      failed(counter(meter, queue, "horae_delay_failed_total", "Publishes that failed and are tried again")),
      dead_lettered(counter(meter, queue, "horae_delay_dead_lettered_total", "Records and messages dead-lettered")),
      suspected(
          counter(meter, queue, "horae_delay_suspected_total", "Messages taken from nodes that seem to have failed")),
      gone(counter(meter, queue, "horae_delay_gone_total",
                   "Fired messages whose row another node had removed or reset")),
      lateness_seconds_(meter.histogram({"horae_delay_lateness_seconds", "From deadline to acknowledged publish"},
                                        kSecondsBuckets, {{"delay_queue", queue}})) {
  for (const std::string_view reason : kBadReasons) {
    bad_.emplace(reason,
                 std::make_unique<Tally>(meter.counter({"horae_delay_bad_total", "Records that are not messages"},
                                                       {{"delay_queue", queue}, {"reason", reason}})));
  }
}

void RelayFigures::bad(std::string_view reason) { bad_.at(reason)->add(); }

std::vector<std::pair<std::string, std::uint64_t>> RelayFigures::bad_by_reason() const {
  std::vector<std::pair<std::string, std::uint64_t>> all;
  for (const auto& [reason, tally] : bad_) all.emplace_back(reason, tally->total());
  return all;
}

void RelayFigures::note_fired(MonotonicTime now, std::optional<Duration> lateness) {
  fired.add();
  if (lateness) {
    lateness_.note(now, *lateness);
    lateness_seconds_.record(std::max(0.0, std::chrono::duration<double>(*lateness).count()));
  }
  const std::lock_guard lock(mutex_);
  const Duration::rep number = second_of(now);
  Second& second = seconds_[static_cast<std::size_t>(number) % seconds_.size()];
  if (second.number != number) second = {.number = number};
  ++second.fired;
}

double RelayFigures::fired_per_second(MonotonicTime now) const {
  const std::lock_guard lock(mutex_);
  const Duration::rep present = second_of(now);
  std::uint64_t sum = 0;
  for (const Second& second : seconds_) {
    const Duration::rep age = present - second.number;
    if (second.number >= 0 && age >= 1 && age <= static_cast<Duration::rep>(kSeconds)) sum += second.fired;
  }
  return static_cast<double>(sum) / static_cast<double>(kSeconds);
}

}  // namespace horae
