// When a cron expression fires in a time zone.
//
// The hour of the expression decides what happens when the clocks change:
//
// - Fixed hours ("30 2 * * *") name times of the day. A time that the clock skips (a gap) fires once at the end of the gap,
//   together with all others in that gap, or not at all; a time that the clock shows twice (a fold) fires at the first,
//   at the second or at both.
// - An hour that is `*` or has a step ("*/20 * * * *", "0 */6 * * *") follows real time: it fires whenever the clock shows
//   a matching time, so twice in a fold, and not for times that the clock skips.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/zone/zone.h"
#include "model/cron.h"

namespace horae {

enum class GapRule { kNext, kSkip };
enum class FoldRule { kFirst, kSecond, kBoth };

struct CalendarRule {
  CronExpression cron;
  GapRule gap = GapRule::kNext;
  FoldRule fold = FoldRule::kFirst;
};

// The first fire after `after`. Nothing if there is none within a hundred years or before the year 10000. Fires are at
// whole seconds.
std::optional<Instant> next_fire(const CalendarRule& rule, const Zone& zone, Instant after);

// The last fire before `before`, within a hundred years.
std::optional<Instant> previous_fire(const CalendarRule& rule, const Zone& zone, Instant before);

}  // namespace horae
