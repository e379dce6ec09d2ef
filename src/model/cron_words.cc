#include <fmt/format.h>

#include <bit>
#include <vector>

#include "model/cron.h"

namespace horae {
namespace {

constexpr std::string_view kMonths[] = {"",     "January", "February",  "March",   "April",    "May",     "June",
                                        "July", "August",  "September", "October", "November", "December"};
constexpr std::string_view kWeekdays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::string_view kOrdinals[] = {"first", "second", "third", "fourth", "fifth"};
constexpr std::uint64_t kAllMinutes = (std::uint64_t{1} << 60) - 1;
constexpr std::uint32_t kAllHours = (1U << 24) - 1;
constexpr std::uint32_t kAllDays = 0xfffffffeU;
constexpr std::uint16_t kAllMonths = 0x1ffe;
constexpr std::uint8_t kAllWeekdays = 0x7f;
constexpr int kTimesInFull = 6;  // more times of the day than these are described by their parts

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

// "1, 5 and 9 to 12". `order` are the values in the order of reading.
template <typename Name>
std::string list_of(std::uint64_t set, int first, int count, Name name) {
  std::vector<std::string> parts;
  for (int i = 0; i < count;) {
    int run = 0;
    while (i + run < count && ((set >> static_cast<unsigned>((first + i + run) % 64)) & 1U) != 0) ++run;
    if (run >= 3) {
      parts.push_back(fmt::format("{} to {}", name(first + i), name(first + i + run - 1)));
    } else {
      for (int k = 0; k < run; ++k) parts.push_back(std::string(name(first + i + k)));
    }
    i += run + 1;
  }
  return join(parts);
}

std::string number(int value) { return std::to_string(value); }
std::string month_name(int value) { return std::string(kMonths[value]); }

// The week is read from Monday on.
std::string weekday_list(std::uint8_t set) {
  const std::uint64_t from_monday = std::uint64_t{set} | (std::uint64_t{set & 1U} << 7U);
  return list_of(from_monday, 1, 7, [](int value) { return std::string(kWeekdays[value % 7]); });
}

// n, if the set is 0, n, 2n, ... and these divide the whole evenly.
std::optional<int> even_step(std::uint64_t set, int whole) {
  for (int step = 2; step < whole; ++step) {
    if (whole % step != 0) continue;
    std::uint64_t stepped = 0;
    for (int value = 0; value < whole; value += step) stepped |= std::uint64_t{1} << static_cast<unsigned>(value);
    if (stepped == set) return step;
  }
  return std::nullopt;
}

// "every minute", "every 15 minutes", "at minute 5", "at minutes 5 and 10".
std::string part_of_time(std::uint64_t set, std::string_view unit) {
  if (set == kAllMinutes) return fmt::format("every {}", unit);
  if (const auto step = even_step(set, 60)) return fmt::format("every {} {}s", *step, unit);
  return fmt::format("at {}{} {}", unit, std::popcount(set) == 1 ? "" : "s", list_of(set, 0, 60, number));
}

std::string hours_of(std::uint32_t set) {
  if (set == kAllHours) return "";
  if (const auto step = even_step(set, 24)) return fmt::format("of every {} hours from 0", *step);
  return fmt::format("of hour{} {}", std::popcount(set) == 1 ? "" : "s", list_of(set, 0, 24, number));
}

std::string times_in_full(const CronExpression& cron) {
  std::vector<std::string> times;
  for (int time = 0; time < 24 * 60; ++time) {
    const auto hour = static_cast<unsigned>(time / 60);
    const auto minute = static_cast<unsigned>(time % 60);
    if (((cron.hours >> hour) & 1U) == 0 || ((cron.minutes >> minute) & 1U) == 0) continue;
    std::string text = fmt::format("{:02}:{:02}", hour, minute);
    if (cron.seconds != 1) text += fmt::format(":{:02}", std::countr_zero(cron.seconds));
    times.push_back(std::move(text));
  }
  return "at " + join(times);
}

std::string time_in_words(const CronExpression& cron) {
  const bool one_second = std::popcount(cron.seconds) == 1;
  if (one_second && std::popcount(cron.hours) * std::popcount(cron.minutes) <= kTimesInFull) return times_in_full(cron);
  std::vector<std::string> parts;
  if (cron.seconds != 1) parts.push_back(part_of_time(cron.seconds, "second"));
  if (cron.minutes != kAllMinutes || cron.seconds == 1) parts.push_back(part_of_time(cron.minutes, "minute"));
  std::string text = parts.size() == 2 ? parts[0] + ", " + parts[1] : parts[0];
  if (const std::string hours = hours_of(cron.hours); !hours.empty()) text += " " + hours;
  return text;
}

std::string days_of_month(const CronExpression& cron) {
  std::vector<std::string> parts;
  if (cron.days != 0) {
    parts.push_back(
        fmt::format("day{} {}", std::popcount(cron.days) == 1 ? "" : "s", list_of(cron.days, 1, 31, number)));
  }
  if (cron.last_day) parts.emplace_back("the last day");
  return join(parts) + " of the month";
}

std::string days_of_week(const CronExpression& cron) {
  std::vector<std::string> parts;
  if (cron.weekdays != 0) parts.push_back(weekday_list(cron.weekdays));
  for (std::size_t i = 0; i < cron.nth_weekdays.size(); ++i) {
    if (cron.nth_weekdays[i] == 0) continue;
    parts.push_back(fmt::format("the {} {} of the month", kOrdinals[i], weekday_list(cron.nth_weekdays[i])));
  }
  if (cron.last_weekdays != 0)
    parts.push_back(fmt::format("the last {} of the month", weekday_list(cron.last_weekdays)));
  return join(parts);
}

}  // namespace

std::string in_words(const CronExpression& cron) {
  std::string text = time_in_words(cron);
  const bool some_days = cron.days != kAllDays;
  const bool some_weekdays = cron.weekdays != kAllWeekdays;
  const bool both = cron.any_day || cron.any_weekday;
  if (both) {
    if (some_days) text += " on " + days_of_month(cron);
    if (some_days && some_weekdays) text += " if it is";
    if (some_weekdays) text += (some_days ? " " : " on ") + days_of_week(cron);
  } else if (some_days && some_weekdays) {
    text += " on " + days_of_month(cron) + " or on " + days_of_week(cron);
  }
  if (cron.months != kAllMonths) text += " in " + list_of(cron.months, 1, 12, month_name);
  return text;
}

}  // namespace horae
