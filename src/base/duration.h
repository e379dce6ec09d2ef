// Durations as people write them: "3s", "10ms", "1h30m", "1.5h".
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace horae {

// Reads one or more numbers, each with its unit (ns, us, µs, ms, s, m, h) and an optional fraction, added up; a bare
// "0" needs no unit. A fraction finer than a nanosecond is cut off. Fails with kMalformed, and a message that names the
// text and what is wrong with it, for negative values, unknown units, garbage, and sums beyond 292 years.
Result<Duration> parse_duration(std::string_view text);

// The shortest usual form, which parse_duration() reads back to the same value: "1h30m", "1.5s", "250ms", "0s".
// A negative duration, which only arithmetic can make, gets a leading "-".
std::string format_duration(Duration duration);

}  // namespace horae
