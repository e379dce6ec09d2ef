#include "app/exchange_of_hints.h"

#include <utility>

#include "http/hint_text.h"

namespace horae {
namespace {

// The tick that tells the others, and two more: they look once a second as we do, but not quite at the same pace.
constexpr int kTicksUntilHeard = 3;

constexpr Duration kSaidEach = std::chrono::seconds(1);  // that a deaf node misses everything

}  // namespace

ExchangeOfHints::ExchangeOfHints(EventRing& ring, HintWays ways) : ring_(ring), ways_(std::move(ways)) {
  ring_.set_first_reader([this] { on_first_reader(); });
}

void ExchangeOfHints::tell(std::span<const Hint> hints) {
  ring_.add(hints);
  if (!others_want_them_) return;
  for (const Hint& hint : hints) ways_.tell_others(format_hint(hint));
}

void ExchangeOfHints::hear(const std::vector<std::string>& hints, bool lost) {
  std::vector<Hint> read;
  for (const std::string& text : hints) {
    if (auto hint = parse_hint(text)) read.push_back(std::move(*hint));
  }
  ring_.add(read);
  if (lost) ring_.lose();
}

void ExchangeOfHints::on_first_reader() {
  const std::lock_guard lock(mutex_);
  if (!wants_them_) set_wants(true);
}

void ExchangeOfHints::set_wants(bool wants) {
  wants_them_ = wants;
  ticks_until_heard_ = wants ? kTicksUntilHeard : 0;
  ways_.set_wants_hints(wants);
}

void ExchangeOfHints::on_tick(const Tick& tick) {
  others_want_them_ = tick.peers_want_hints;
  bool is_missing = false;
  {
    const std::lock_guard lock(mutex_);
    is_missing = is_something_missing(tick);
    last_tick_ = tick.now;
  }
  if (is_missing) ring_.lose();
}

bool ExchangeOfHints::is_something_missing(const Tick& tick) {
  const bool was_gone = last_tick_ && tick.now - *last_tick_ > kNodeIsGoneAfter;
  const bool has_readers = ring_.readers() > 0;
  if (has_readers != wants_them_) {
    set_wants(has_readers);
    return false;
  }
  if (!has_readers) return false;
  if (was_gone) ticks_until_heard_ = kTicksUntilHeard;
  if (tick.peers == 0) return was_gone;
  if (ways_.is_deaf()) return is_time_to_say_so(tick.now);
  if (ticks_until_heard_ == 0) return false;
  return --ticks_until_heard_ < kTicksUntilHeard - 1 || was_gone;
}

bool ExchangeOfHints::is_time_to_say_so(Instant now) {
  // The store's clock may be set back.
  if (last_lost_ && now >= *last_lost_ && now - *last_lost_ < kSaidEach) return false;
  last_lost_ = now;
  return true;
}

}  // namespace horae
