#include "app/exchange_of_hints.h"

#include <utility>

#include "observe/hint_text.h"

namespace horae {
namespace {

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
  ways_.set_wants_hints(wants);
}

void ExchangeOfHints::on_tick(const Tick& tick) {
  // In this order: what happens after they were told of losses is told.
  const bool did_want = others_want_them_.exchange(tick.peers_want_hints);
  if (tick.peers_want_hints && !did_want) ways_.tell_of_losses();
  bool is_missing = false;
  {
    const std::lock_guard lock(mutex_);
    const bool has_readers = ring_.readers() > 0;
    if (has_readers != wants_them_) set_wants(has_readers);
    is_missing = has_readers && tick.peers > 0 && ways_.is_deaf() && is_time_to_say_so(tick.now);
  }
  if (is_missing) ring_.lose();
}

bool ExchangeOfHints::is_time_to_say_so(Instant now) {
  // The store's clock may be set back.
  if (last_lost_ && now >= *last_lost_ && now - *last_lost_ < kSaidEach) return false;
  last_lost_ = now;
  return true;
}

}  // namespace horae
