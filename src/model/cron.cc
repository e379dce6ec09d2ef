#include "model/cron.h"

#include <bit>

namespace horae {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::local_days;
using std::chrono::seconds;
using std::chrono::year_month_day;

constexpr int kMinutesInHour = 60;
constexpr int kSecondsInMinute = 60;
constexpr int kSecondsInHour = 3600;
constexpr int kLastSecondOfDay = 24 * kSecondsInHour - 1;

bool has(std::uint64_t set, unsigned value) { return ((set >> value) & 1U) != 0; }

// The least value of the set that is not below `from`.
std::optional<int> at_or_after(std::uint64_t set, int from) {
  if (from >= 64) return std::nullopt;
  const std::uint64_t rest = set >> from << from;
  return rest == 0 ? std::nullopt : std::optional(std::countr_zero(rest));
}

// The greatest value of the set that is not above `from`.
std::optional<int> at_or_before(std::uint64_t set, int from) {
  if (from < 0) return std::nullopt;
  const std::uint64_t rest = set << (63 - from) >> (63 - from);
  return rest == 0 ? std::nullopt : std::optional(63 - std::countl_zero(rest));
}

int join(int hour, int minute, int second) { return hour * kSecondsInHour + minute * kSecondsInMinute + second; }

// The first second of the day that matches, from `from` on.
std::optional<int> first_time(const CronExpression& cron, int from) {
  const int hour = from / kSecondsInHour;
  const int minute = from / kSecondsInMinute % kMinutesInHour;
  const int first_second = *at_or_after(cron.seconds, 0);
  if (has(cron.hours, static_cast<unsigned>(hour))) {
    const auto second = at_or_after(cron.seconds, from % kSecondsInMinute);
    if (second && has(cron.minutes, static_cast<unsigned>(minute))) return join(hour, minute, *second);
    if (const auto later = at_or_after(cron.minutes, minute + 1)) return join(hour, *later, first_second);
  }
  const auto later = at_or_after(cron.hours, hour + 1);
  return later ? std::optional(join(*later, *at_or_after(cron.minutes, 0), first_second)) : std::nullopt;
}

// The last second of the day that matches, up to `from`.
std::optional<int> last_time(const CronExpression& cron, int from) {
  const int hour = from / kSecondsInHour;
  const int minute = from / kSecondsInMinute % kMinutesInHour;
  const int last_second = *at_or_before(cron.seconds, kSecondsInMinute - 1);
  if (has(cron.hours, static_cast<unsigned>(hour))) {
    const auto second = at_or_before(cron.seconds, from % kSecondsInMinute);
    if (second && has(cron.minutes, static_cast<unsigned>(minute))) return join(hour, minute, *second);
    if (const auto earlier = at_or_before(cron.minutes, minute - 1)) return join(hour, *earlier, last_second);
  }
  const auto earlier = at_or_before(cron.hours, hour - 1);
  if (!earlier) return std::nullopt;
  return join(*earlier, *at_or_before(cron.minutes, kMinutesInHour - 1), last_second);
}

bool matches_month(const CronExpression& cron, const year_month_day& date) {
  return has(cron.months, static_cast<unsigned>(date.month()));
}

bool matches_date(const CronExpression& cron, local_days day, const year_month_day& date) {
  const auto of_month = static_cast<unsigned>(date.day());
  const auto month_end = static_cast<unsigned>((date.year() / date.month() / std::chrono::last).day());
  const unsigned of_week = std::chrono::weekday(day).c_encoding();
  const bool by_month = has(cron.days, of_month) || (cron.last_day && of_month == month_end);
  const bool by_week = has(cron.weekdays, of_week) || (has(cron.last_weekdays, of_week) && of_month + 7 > month_end) ||
                       has(cron.nth_weekdays[(of_month - 1) / 7], of_week);
  return cron.any_day || cron.any_weekday ? by_month && by_week : by_month || by_week;
}

}  // namespace

std::optional<LocalSeconds> first_match(const CronExpression& cron, LocalSeconds from, LocalSeconds until) {
  local_days day = floor<days>(from);
  int time = static_cast<int>((from - day).count());
  while (day < until) {
    const year_month_day date(day);
    if (!matches_month(cron, date)) {
      const auto next_month = date.year() / date.month() + std::chrono::months(1);
      day = local_days(next_month / 1);
      time = 0;
      continue;
    }
    if (matches_date(cron, day, date)) {
      if (const auto match = first_time(cron, time)) {
        const LocalSeconds found = day + seconds(*match);
        return found < until ? std::optional(found) : std::nullopt;
      }
    }
    day += days(1);
    time = 0;
  }
  return std::nullopt;
}

std::optional<LocalSeconds> last_match(const CronExpression& cron, LocalSeconds from, LocalSeconds until) {
  if (until <= from) return std::nullopt;
  const LocalSeconds last = until - seconds(1);
  local_days day = floor<days>(last);
  int time = static_cast<int>((last - day).count());
  while (day + days(1) > from) {
    const year_month_day date(day);
    if (!matches_month(cron, date)) {
      day = local_days(date.year() / date.month() / 1) - days(1);
      time = kLastSecondOfDay;
      continue;
    }
    if (matches_date(cron, day, date)) {
      if (const auto match = last_time(cron, time)) {
        const LocalSeconds found = day + seconds(*match);
        return found >= from ? std::optional(found) : std::nullopt;
      }
    }
    day -= days(1);
    time = kLastSecondOfDay;
  }
  return std::nullopt;
}

bool matches(const CronExpression& cron, LocalSeconds time) {
  return first_match(cron, time, time + seconds(1)).has_value();
}

}  // namespace horae
