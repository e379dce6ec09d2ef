// Cron expressions: which local times they name.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/zone/zone.h"

namespace horae {

inline constexpr std::size_t kMaxCronBytes = 256;

// Five fields (minute, hour, day of month, month, day of week), or six with the second before them. Each bit of a set is
// a value that matches.
//
//   *           any value
//   a  a-b      a value, a range; lists of these: 1,15  MON-FRI  JAN,JUL
//   */n a-b/n   each n-th of them
//   L           the last day of the month (day of month)
//   5L  FRIL    the last such day of the month (day of week)
//   5#2 FRI#2   the second such day of the month (day of week)
//   @daily      also @hourly, @midnight, @weekly, @monthly, @yearly, @annually
//
// Sunday is 0 or 7. As in Vixie cron, a date matches if the day of month or the day of week does, unless one of the two
// fields begins with `*`: then both must match.
struct CronExpression {
  std::uint64_t seconds = 1;  // second 0 only, if the expression has five fields
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t days = 0;     // of the month, bits 1 to 31
  bool last_day = false;      // of the month
  std::uint16_t months = 0;   // bits 1 to 12
  std::uint8_t weekdays = 0;  // any such day; bit 0 is Sunday
  std::uint8_t last_weekdays = 0;
  std::array<std::uint8_t, 5> nth_weekdays{};  // of the first, second, ... such day of the month
  bool any_day = false;                        // the day of month begins with *
  bool any_weekday = false;                    // the day of week begins with *
  bool follows_real_time = false;  // the hour is * or has a step: when clocks change, real time counts (model/fires.h)

  friend bool operator==(const CronExpression&, const CronExpression&) = default;
};

// Fails with kMalformed, and a message that names the field and the position of the character, from 1, for what it
// cannot read, for values out of range, and for dates that the calendar does not have (30 February).
Result<CronExpression> parse_cron(std::string_view text);

// The first match from `from` up to, but not including, `until`.
std::optional<LocalSeconds> first_match(const CronExpression& cron, LocalSeconds from, LocalSeconds until);

// The last match from `from` up to, but not including, `until`.
std::optional<LocalSeconds> last_match(const CronExpression& cron, LocalSeconds from, LocalSeconds until);

bool matches(const CronExpression& cron, LocalSeconds time);

// The expression in words: "at 02:30 on Monday to Friday".
std::string in_words(const CronExpression& cron);

}  // namespace horae
