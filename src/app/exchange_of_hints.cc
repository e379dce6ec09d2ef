#include "app/exchange_of_hints.h"

#include "http/hint_text.h"

namespace horae {
namespace {

constexpr int kTicksUntilHeard = 2;  // ours, and the next one of each other node

}  // namespace

void ExchangeOfHints::tell(std::span<const Hint> hints) {
  ring_.add(hints);
  if (!others_want_them_) return;
  for (const Hint& hint : hints) engine_.hint(format_hint(hint));
}

void ExchangeOfHints::hear(const std::vector<std::string>& hints, bool lost) {
  std::vector<Hint> read;
  for (const std::string& text : hints) {
    if (auto hint = parse_hint(text)) read.push_back(std::move(*hint));
  }
  ring_.add(read);
  if (lost) ring_.lose();
}

void ExchangeOfHints::on_tick(const Tick& tick) {
  others_want_them_ = tick.peers_want_hints;
  const bool has_readers = ring_.readers() > 0;
  if (has_readers != wants_them_) {
    wants_them_ = has_readers;
    ticks_until_heard_ = has_readers ? kTicksUntilHeard : 0;
    engine_.set_wants_hints(has_readers);
    return;
  }
  if (!has_readers || tick.peers == 0) return;
  if (engine_.is_deaf() || (ticks_until_heard_ > 0 && --ticks_until_heard_ == 0)) ring_.lose();
}

}  // namespace horae
