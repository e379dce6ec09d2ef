#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/quote.h"
#include "model/cron.h"

namespace horae {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view kMonthNames[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                            "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::string_view kDayNames[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
constexpr int kSunday = 7;  // also 0
constexpr std::string_view kBlanks = " \t";

// What one field allows.
struct Field {
  std::string_view name;
  int least;
  int most;
  int span;     // how many values there are: the longest step
  Names names;  // of `least` and the following
};

constexpr Field kSecond{"second", 0, 59, 60, {}};
constexpr Field kMinute{"minute", 0, 59, 60, {}};
constexpr Field kHour{"hour", 0, 23, 24, {}};
constexpr Field kDay{"day of month", 1, 31, 31, {}};
constexpr Field kMonth{"month", 1, 12, 12, kMonthNames};
constexpr Field kWeekday{"day of week", 0, 7, 7, kDayNames};

struct Alias {
  std::string_view name;
  std::string_view meaning;
};

constexpr Alias kAliases[] = {
    {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"},
};

// A part of the expression and where it begins.
struct Word {
  std::string_view text;
  std::size_t position = 0;  // from 0
};

// The values of one field.
struct Values {
  std::uint64_t set = 0;
  bool last_day = false;
  std::uint8_t last_weekdays = 0;
  std::array<std::uint8_t, 5> nth_weekdays{};
  bool begins_with_star = false;
  bool has_step = false;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// Reads one field, from left to right.
class FieldReader {
 public:
  FieldReader(const Field& field, Word word) : field_(field), word_(word) {}

  Result<Values> read() {
    values_.begins_with_star = word_.text.front() == '*';
    do {
      if (auto item = read_item(); !item.ok()) return item.error();
    } while (take(','));
    if (at_end()) return values_;
    return fault(next_, fmt::format("{} is unexpected here", quote(word_.text.substr(next_))));
  }

 private:
  bool at_end() const { return next_ == word_.text.size(); }
  bool is_weekday() const { return &field_ == &kWeekday; }

  bool take(char c) {
    if (at_end() || upper(word_.text[next_]) != c) return false;
    ++next_;
    return true;
  }

  Error fault(std::size_t at, std::string_view what) const {
    return {ErrorCode::kMalformed, fmt::format("{} (character {}): {}", field_.name, word_.position + at + 1, what)};
  }

  Result<void> read_item() {
    const std::size_t start = next_;
    if (take('*')) return read_step(field_.least, is_weekday() ? kSunday - 1 : field_.most);
    if (&field_ == &kDay && take('L')) {
      values_.last_day = true;
      return {};
    }
    const auto first = read_value();
    if (!first.ok()) return first.error();
    if (take('-')) return read_range(start, *first);
    if (is_weekday() && take('#')) return read_nth(*first);
    if (is_weekday() && take('L')) {
      values_.last_weekdays |= weekday_bit(*first);
      return {};
    }
    if (!at_end() && word_.text[next_] == '/') {
      return fault(next_, fmt::format("a step needs a range: write {}-{}/n", *first, field_.most));
    }
    add(*first, *first, 1);
    return {};
  }

  Result<void> read_range(std::size_t start, int first) {
    auto last = read_value();
    if (!last.ok()) return last.error();
    if (is_weekday() && *last == 0 && first > 0) last = kSunday;  // SAT-SUN
    if (*last < first) {
      return fault(start, fmt::format("the range ends before it begins; write two: {}-{},{}-{}", first,
                                      is_weekday() ? kSunday - 1 : field_.most, field_.least, *last));
    }
    return read_step(first, *last);
  }

  Result<void> read_step(int first, int last) {
    int step = 1;
    if (take('/')) {
      const std::size_t start = next_;
      const auto number = read_number();
      if (!number.ok()) return number.error();
      if (*number < 1 || *number >= field_.span) {
        return fault(start, fmt::format("a step is 1 to {}, not {}", field_.span - 1, *number));
      }
      step = *number;
      values_.has_step = true;
    }
    add(first, last, step);
    return {};
  }

  Result<void> read_nth(int weekday) {
    const std::size_t start = next_;
    const auto number = read_number();
    if (!number.ok()) return number.error();
    if (*number < 1 || *number > 5)
      return fault(start, "a month has each day of the week at most 5 times: give 1 to 5");
    values_.nth_weekdays[static_cast<std::size_t>(*number) - 1] |= weekday_bit(weekday);
    return {};
  }

  // A number within the bounds of the field, or a name.
  Result<int> read_value() {
    const std::size_t start = next_;
    if (!at_end() && is_letter(word_.text[next_])) return read_name();
    const auto number = read_number();
    if (!number.ok()) return number.error();
    if (*number >= field_.least && *number <= field_.most) return *number;
    return fault(start, fmt::format("{} is out of range: give {} to {}", *number, field_.least, field_.most));
  }

  Result<int> read_number() {
    const std::size_t start = next_;
    int number = 0;
    while (!at_end() && is_digit(word_.text[next_])) {
      number = number * 10 + (word_.text[next_++] - '0');
      if (number > 9999) return fault(start, "the number is too large");
    }
    if (next_ > start) return number;
    if (at_end()) return fault(next_, "the field ends where a value is needed");
    return fault(next_, fmt::format("{} is not a value{}", quote(word_.text.substr(next_)),
                                    word_.text[next_] == '?' ? "; write * for any" : ""));
  }

  Result<int> read_name() {
    const std::string_view rest = word_.text.substr(next_);
    for (std::size_t i = 0; i < field_.names.size(); ++i) {
      const bool same = std::ranges::equal(rest.substr(0, 3), field_.names[i], {}, upper);
      if (same) {
        next_ += 3;
        return field_.least + static_cast<int>(i);
      }
    }
    return fault(next_, fmt::format("{} is not a value{}", quote(rest),
                                    upper(rest.front()) == 'W' ? "; W (the nearest weekday) is not supported"
                                    : field_.names.empty()
                                        ? ""
                                        : "; names have three letters, such as " + std::string(field_.names.front())));
  }

  static std::uint8_t weekday_bit(int day) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(day % 7)); }

  void add(int first, int last, int step) {
    for (int value = first; value <= last; value += step) {
      values_.set |= std::uint64_t{1} << static_cast<unsigned>(is_weekday() ? value % 7 : value);
    }
  }

  const Field& field_;
  Word word_;
  std::size_t next_ = 0;
  Values values_;
};

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    words.push_back({text.substr(at, end - at), at});
    at = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

// A cycle of the calendar has 400 years.
bool has_dates(CronExpression cron) {
  const auto start = std::chrono::local_days(std::chrono::year(2000) / 1 / 1);
  return first_match(cron, start, std::chrono::local_days(std::chrono::year(2400) / 1 / 1)).has_value();
}

Result<CronExpression> read_fields(std::span<const Word> words) {
  constexpr const Field* kFields[] = {&kSecond, &kMinute, &kHour, &kDay, &kMonth, &kWeekday};
  std::array<Values, 6> values;
  values[0].set = 1;
  const std::size_t skipped = values.size() - words.size();
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto read = FieldReader(*kFields[i + skipped], words[i]).read();
    if (!read.ok()) return read.error();
    values[i + skipped] = *read;
  }
  const auto& [second, minute, hour, day, month, weekday] = values;
  const CronExpression cron{
      .seconds = second.set,
      .minutes = minute.set,
      .hours = static_cast<std::uint32_t>(hour.set),
      .days = static_cast<std::uint32_t>(day.set),
      .last_day = day.last_day,
      .months = static_cast<std::uint16_t>(month.set),
      .weekdays = static_cast<std::uint8_t>(weekday.set),
      .last_weekdays = weekday.last_weekdays,
      .nth_weekdays = weekday.nth_weekdays,
      .any_day = day.begins_with_star,
      .any_weekday = weekday.begins_with_star,
      .follows_real_time = hour.has_step || hour.begins_with_star,
  };
  if (has_dates(cron)) return cron;
  const Word& date = words[words.size() - 3];
  return Error{ErrorCode::kMalformed,
               fmt::format("day of month (character {}): the calendar has no such date: day {}, month {}",
                           date.position + 1, quote(date.text), quote(words[words.size() - 2].text))};
}

Result<CronExpression> read_expression(std::string_view text) {
  if (text.size() > kMaxCronBytes) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("it has {} bytes, at most {} are allowed", text.size(), kMaxCronBytes)};
  }
  const std::vector<Word> words = words_of(text);
  if (words.size() == 1 && words[0].text.front() == '@') {
    for (const auto& [name, meaning] : kAliases) {
      if (words[0].text == name) return read_fields(words_of(meaning));
    }
    return Error{ErrorCode::kMalformed,
                 "minute (character 1): the names are @hourly, @daily, @midnight, @weekly, "
                 "@monthly, @yearly and @annually; for a fixed rate use `every`"};
  }
  if (words.size() == 5 || words.size() == 6) return read_fields(words);
  return Error{
      ErrorCode::kMalformed,
      fmt::format("it has {} fields; give minute, hour, day of month, month and day of week, or the second before "
                  "them",
                  words.size())};
}

}  // namespace

Result<CronExpression> parse_cron(std::string_view text) {
  auto cron = read_expression(text);
  if (cron.ok()) return cron;
  return Error{cron.error().code, fmt::format("cron {}: {}", quote(text), cron.error().message)};
}

}  // namespace horae
