#include "model/fires.h"

#include <algorithm>

namespace horae {
namespace {

using std::chrono::ceil;
using std::chrono::days;
using std::chrono::floor;
using std::chrono::seconds;

constexpr seconds kSecond{1};
constexpr seconds kHorizon = days(36'525);

LocalSeconds local_of(UtcSeconds time, seconds offset) { return LocalSeconds(time.time_since_epoch()) + offset; }
UtcSeconds utc_of(LocalSeconds time, seconds offset) { return UtcSeconds(time.time_since_epoch()) - offset; }

// The local times of a span that fire by themselves, from `begin` up to, but not including, `end`.
struct Window {
  LocalSeconds begin;
  LocalSeconds end;
};

// Cuts off what the span before or after shows as well, by the rule of folds. In a gap, the neighbours cut nothing off.
Window window_of(const CalendarRule& rule, const Zone& zone, const ZoneSpan& span) {
  Window window{local_of(span.begin, span.offset), local_of(span.end, span.offset)};
  if (rule.cron.follows_real_time) return window;
  if (rule.fold == FoldRule::kFirst && span.begin > kEarliestSecond) {
    window.begin = std::max(window.begin, local_of(span.begin, zone.span_at(span.begin - kSecond).offset));
  }
  if (rule.fold == FoldRule::kSecond && span.end < kLatestSecond) {
    window.end = std::min(window.end, local_of(span.end, zone.span_at(span.end).offset));
  }
  return window;
}

// Whether the gap before the span, if there is one, holds times that fire at its end instead.
bool fires_after_gap(const CalendarRule& rule, const Zone& zone, const ZoneSpan& span) {
  if (rule.cron.follows_real_time || rule.gap == GapRule::kSkip || span.begin == kEarliestSecond) return false;
  const seconds before = zone.span_at(span.begin - kSecond).offset;
  return first_match(rule.cron, local_of(span.begin, before), local_of(span.begin, span.offset)).has_value();
}

}  // namespace

std::optional<Instant> next_fire(const CalendarRule& rule, const Zone& zone, Instant after) {
  const UtcSeconds from = std::max(floor<seconds>(after) + kSecond, kEarliestSecond);
  if (from >= kLatestSecond) return std::nullopt;
  const UtcSeconds limit = std::min(from + kHorizon, kLatestSecond);
  for (ZoneSpan span = zone.span_at(from);; span = zone.span_at(span.end)) {
    if (span.begin >= from && fires_after_gap(rule, zone, span)) return span.begin;
    const Window window = window_of(rule, zone, span);
    const LocalSeconds begin = std::max(window.begin, local_of(from, span.offset));
    const LocalSeconds end = std::min(window.end, local_of(limit, span.offset));
    if (const auto match = first_match(rule.cron, begin, end)) return utc_of(*match, span.offset);
    if (span.end >= limit) return std::nullopt;
  }
}

std::optional<Instant> previous_fire(const CalendarRule& rule, const Zone& zone, Instant before) {
  const UtcSeconds until = std::min(ceil<seconds>(before), kLatestSecond);
  if (until <= kEarliestSecond) return std::nullopt;
  const UtcSeconds limit = std::max(until - kHorizon, kEarliestSecond);
  for (ZoneSpan span = zone.span_at(until - kSecond);; span = zone.span_at(span.begin - kSecond)) {
    const Window window = window_of(rule, zone, span);
    const LocalSeconds begin = std::max(window.begin, local_of(limit, span.offset));
    const LocalSeconds end = std::min(window.end, local_of(until, span.offset));
    if (const auto match = last_match(rule.cron, begin, end)) return utc_of(*match, span.offset);
    if (span.begin >= limit && fires_after_gap(rule, zone, span)) return span.begin;
    if (span.begin <= limit) return std::nullopt;
  }
}

}  // namespace horae
