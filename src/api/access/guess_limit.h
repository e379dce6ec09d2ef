// Slows callers that try tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/access/rate_limit.h"
#include "base/clock.h"
#include "base/meter.h"

namespace horae {

// The limit of unknown tokens from one address: a burst of this many, refilled at the same number a second.
inline constexpr int kMissesPerSecond = 100;

// Counts the unknown tokens of each address. Beyond the limit, calls of that address with a token are to be refused
// before their token is looked up, known or not; such calls are not counted, so a caller that stops guessing goes on
// within a second. Addresses of IPv6 count by their /64, of which one caller usually has all.
//
// Publishes horae_token_misses_total and horae_token_guesses_slowed_total. Thread-safe.
class GuessLimit {
 public:
  // Clock and meter outlive it.
  GuessLimit(const Clock& clock, Meter& meter);

  // How long `peer` ("127.0.0.1:50312") has to wait before its next token is looked up; nothing: not at all.
  std::optional<Duration> wait(std::string_view peer);

  // A token of `peer` is not known.
  void missed(std::string_view peer);

 private:
  const Clock& clock_;
  RateLimit misses_;
  Counter& missed_;
  Counter& slowed_;
};

// What is counted together: "127.0.0.1" for "127.0.0.1:50312", "2001:db8::/64" for "[2001:db8::7]:50312". A peer of
// another form stands for itself.
std::string address_group(std::string_view peer);

}  // namespace horae
