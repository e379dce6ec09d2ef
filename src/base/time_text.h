// Instants as text: RFC 3339 in and out.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace horae {

// How to read a time without "Z" or an offset.
enum class ZoneRule {
  kRequired,         // an error: the zone must be given
  kUtcWhenNotNamed,  // UTC, as in the Chronos headers
};

// The supported range: 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999999Z.
Instant earliest_instant();
Instant latest_instant();

// Reads "2022-12-01T11:09:01.123+02:00". The fraction may have any length and is truncated to microseconds. Texts in
// different zones or with fractions of different lengths that mean the same instant give the same value. "T" and "Z"
// may be lower case. A leap second (23:59:60 UTC) is the first moment of the next minute. Fails with kMalformed, and a
// message that quotes the text and names the wrong part, for everything else: days that the month does not have, hours
// past 23, offsets past 23:59, a missing zone under kRequired, instants outside the range above.
Result<Instant> parse_instant(std::string_view text, ZoneRule rule = ZoneRule::kRequired);

// Writes UTC: "2022-12-01T09:09:01Z", with a fraction of 3 or 6 digits if it is not zero. parse_instant() reads it back
// to the same value. The instant must be in the range above.
std::string format_instant(Instant instant);

}  // namespace horae
