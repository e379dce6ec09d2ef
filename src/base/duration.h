// Durations as people write them: "3s", "10ms", "1h30m", "1.5h".
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace horae {

// Reads a sum of one or more numbers, each with a unit (ns, us, µs, ms, s, m, h) and an optional fraction; a bare "0"
// needs no unit. Fractions are truncated to nanoseconds. Fails with kMalformed, and a message that quotes the text and
// says what is wrong with it, for negative values, unknown units, garbage, and sums beyond 292 years.
Result<Duration> parse_duration(std::string_view text);

// The shortest usual form: "1h30m", "1.5s", "250ms", "0s". parse_duration() reads it back to the same value, unless it
// is negative (which only arithmetic can produce): then it starts with "-".
std::string format_duration(Duration duration);

}  // namespace horae
