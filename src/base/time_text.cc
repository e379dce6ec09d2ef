#include "base/time_text.h"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <iterator>

#include "base/check.h"
#include "base/quote.h"

namespace horae {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_time;
using std::chrono::year;
using std::chrono::year_month_day;

constexpr Instant kEarliest = sys_days(year(0) / 1 / 1);
constexpr Instant kLatest = sys_days(year(9999) / 12 / 31) + days(1) - microseconds(1);

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads a text from front to back. Keeps the first fault; everything read after it is 0.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), rest_(text) {}

  bool failed() const { return !wrong_.empty(); }
  Error error() const { return {ErrorCode::kMalformed, fmt::format("time {}: {}", quote(text_), wrong_)}; }
  void fail(std::string what) {
    if (!failed()) wrong_ = std::move(what);
  }

  std::string_view rest() const { return rest_; }
  // Consumes one character if it is one of `wanted`.
  bool skip(std::string_view wanted) {
    if (rest_.empty() || wanted.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Consumes a mandatory separator: one character of `wanted`.
  void expect(std::string_view wanted, std::string_view before) {
    if (!failed() && !skip(wanted)) {
      fail(fmt::format("'{}' is expected before the {}, not {}", wanted.front(), before, here()));
    }
  }

  // A number of exactly `digits` digits between `low` and `high`.
  int number(std::string_view part, std::size_t digits, int low, int high) {
    if (failed()) return 0;
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (i >= rest_.size() || !is_digit(rest_[i])) {
        fail(fmt::format("the {} needs {} digits, not {}", part, digits, here()));
        return 0;
      }
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    if (value < low || value > high) {
      fail(fmt::format("the {} is {:0{}}, but must be {:0{}} to {:0{}}", part, value, digits, low, digits, high,
                       digits));
      return 0;
    }
    return value;
  }

  // One or more digits after the point, as microseconds.
  microseconds fraction() {
    if (failed()) return {};
    if (rest_.empty() || !is_digit(rest_.front())) fail(fmt::format("digits are expected after '.', not {}", here()));
    int value = 0;
    int scale = 100'000;
    for (; !rest_.empty() && is_digit(rest_.front()); rest_.remove_prefix(1)) {
      value += (rest_.front() - '0') * scale;
      scale /= 10;
    }
    return microseconds(value);
  }

  std::string here() const { return rest_.empty() ? "the end" : quote(rest_, 16); }

 private:
  std::string_view text_;
  std::string_view rest_;
  std::string wrong_;
};

sys_days read_date(Reader& in) {
  const int y = in.number("year", 4, 0, 9999);
  in.expect("-", "month");
  const int m = in.number("month", 2, 1, 12);
  in.expect("-", "day");
  const int d = in.number("day", 2, 1, 31);
  if (in.failed()) return {};

  const std::chrono::month month(static_cast<unsigned>(m));
  const year_month_day date = year(y) / month / d;
  if (!date.ok()) {
    const auto last = static_cast<unsigned>((year(y) / month / std::chrono::last).day());
    in.fail(fmt::format("the day is {:02}, but month {:02} of {:04} has {} days", d, m, y, last));
    return {};
  }
  return date;
}

// How far local time is ahead of UTC.
minutes read_zone(Reader& in, ZoneRule rule) {
  if (in.failed()) return {};
  if (in.rest().empty() && rule == ZoneRule::kUtcWhenNotNamed) return {};
  if (in.skip("Zz")) return {};
  const bool behind = in.skip("-");
  if (!behind && !in.skip("+")) {
    in.fail(fmt::format(R"(the zone must be "Z" or an offset such as "+02:00", not {})", in.here()));
    return {};
  }
  const hours h(in.number("hour of the offset", 2, 0, 23));
  in.expect(":", "minute of the offset");
  const minutes m(in.number("minute of the offset", 2, 0, 59));
  return behind ? -(h + m) : h + m;
}

}  // namespace

Instant earliest_instant() { return kEarliest; }
Instant latest_instant() { return kLatest; }

Result<Instant> parse_instant(std::string_view text, ZoneRule rule) {
  Reader in(text);
  const sys_days day = read_date(in);
  in.expect("Tt", "hour");
  const hours hour(in.number("hour", 2, 0, 23));
  in.expect(":", "minute");
  const minutes minute(in.number("minute", 2, 0, 59));
  in.expect(":", "second");
  const seconds second(in.number("second", 2, 0, 60));
  const microseconds fraction = in.skip(".") ? in.fraction() : microseconds(0);
  const minutes ahead = read_zone(in, rule);
  if (!in.failed() && !in.rest().empty()) in.fail(fmt::format("{} follows the zone", in.here()));
  if (in.failed()) return in.error();

  const sys_time<minutes> utc_minute = day + hour + minute - ahead;
  Instant instant = utc_minute + second + fraction;
  if (second == seconds(60)) {
    if (utc_minute - floor<days>(utc_minute) != hours(23) + minutes(59)) {
      in.fail("the second is 60, but a leap second comes only at 23:59:60 UTC");
      return in.error();
    }
    // Drops the fraction, which would place 23:59:60.9 after 00:00:00.1 of the next minute.
    instant = utc_minute + second;
  }
  if (instant < kEarliest || instant > kLatest) {
    in.fail("is outside the years 0000 to 9999 in UTC");
    return in.error();
  }
  return instant;
}

std::string format_instant(Instant instant) {
  HORAE_CHECK(instant >= kEarliest && instant <= kLatest, "only the years 0 to 9999 can be written");
  const auto day = floor<days>(instant);
  const year_month_day date(day);
  const std::chrono::hh_mm_ss time(instant - day);
  std::string out = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                                time.hours().count(), time.minutes().count(), time.seconds().count());
  const auto micros = time.subseconds().count();
  if (micros % 1000 != 0) {
    fmt::format_to(std::back_inserter(out), ".{:06}", micros);
  } else if (micros != 0) {
    fmt::format_to(std::back_inserter(out), ".{:03}", micros / 1000);
  }
  return out + 'Z';
}

}  // namespace horae
