// Instants as text: RFC 3339 in and out.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace horae {

// What a text without "Z" or an offset means.
enum class ZoneRule {
  kRequired,         // an error: the writer must say which zone
  kUtcWhenNotNamed,  // UTC, as in the Chronos headers
};

// The instants that fit: 0000-01-01T00:00:00Z up to 9999-12-31T23:59:59.999999Z.
Instant earliest_instant();
Instant latest_instant();

// Reads "2022-12-01T11:09:01.123+02:00". The fraction may have any length; what is finer than a microsecond is cut off.
// Texts in different zones or with fractions of different lengths that mean the same instant give the same value.
// "T" and "Z" may be lower case. A leap second (23:59:60 UTC) is the first moment of the next minute. Fails with
// kMalformed, and a message that names the text and the part that is wrong, for all else: days that the month does not
// have, hours past 23, offsets past 23:59, a missing zone under kRequired, instants outside the range above.
Result<Instant> parse_instant(std::string_view text, ZoneRule rule = ZoneRule::kRequired);

// Writes UTC: "2022-12-01T09:09:01Z", with 3 or 6 digits of fraction where there is one. parse_instant() reads it back
// to the same value. The instant must be in the range above.
std::string format_instant(Instant instant);

}  // namespace horae
