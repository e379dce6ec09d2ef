#include "base/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/quote.h"

namespace horae {
namespace {

constexpr std::uint64_t kLongest = std::numeric_limits<Duration::rep>::max();

constexpr std::uint64_t kMicrosecond = 1'000;
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMinute = 60 * kSecond;
constexpr std::uint64_t kHour = 60 * kMinute;

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};

constexpr std::array<Unit, 8> kUnits{{
    {"ns", 1},
    {"us", kMicrosecond},
    {"\u00b5s", kMicrosecond},  // the micro sign
    {"\u03bcs", kMicrosecond},  // the Greek letter
    {"ms", kMillisecond},
    {"s", kSecond},
    {"m", kMinute},
    {"h", kHour},
}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_number(char c) { return is_digit(c) || c == '.'; }

// Removes from the front of `rest`, and returns, everything before the first character for which `stop` is true.
template <typename Stop>
std::string_view take_until(std::string_view& rest, Stop stop) {
  std::size_t length = 0;
  while (length < rest.size() && !stop(rest[length])) ++length;
  const std::string_view taken = rest.substr(0, length);
  rest.remove_prefix(length);
  return taken;
}

std::string_view take_digits(std::string_view& rest) {
  return take_until(rest, [](char c) { return !is_digit(c); });
}

Error malformed(std::string_view text, std::string_view what) {
  return {ErrorCode::kMalformed, fmt::format("duration {}: {}", quote(text), what)};
}

Error too_long(std::string_view text) {
  return malformed(text,
                   fmt::format("is beyond the longest that fits, {} (292 years)", format_duration(Duration::max())));
}

// `whole` units in nanoseconds. Nothing on overflow.
std::optional<std::uint64_t> times_unit(std::string_view whole, std::uint64_t unit) {
  if (whole.empty()) return 0;
  std::uint64_t count = 0;
  const auto [end, failure] = std::from_chars(whole.data(), whole.data() + whole.size(), count);
  if (failure != std::errc() || count > kLongest / unit) return std::nullopt;
  return count * unit;
}

// 0.`digits` units, truncated to whole nanoseconds. Exact for any number of digits: dividing from the last digit to the
// first and truncating at each step gives the same result as truncating once at the end.
std::uint64_t fraction_of_unit(std::string_view digits, std::uint64_t unit) {
  std::uint64_t part = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    part = (part + static_cast<std::uint64_t>(*digit - '0') * unit) / 10;
  }
  return part;
}

Result<std::uint64_t> unit_named(std::string_view name, std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return unit.nanoseconds;
  }
  if (name.empty()) return malformed(text, R"(a unit is missing: end with ns, us, ms, s, m or h, as in "3s")");
  return malformed(text, fmt::format("unknown unit {}; the units are ns, us, \u00b5s, ms, s, m, h", quote(name, 16)));
}

// Removes one number with its unit from the front of `rest`, which is a part of `text` and not empty.
Result<std::uint64_t> take_term(std::string_view& rest, std::string_view text) {
  const std::string_view start = rest;
  const std::string_view whole = take_digits(rest);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
  }
  if (whole.empty() && fraction.empty()) {
    return malformed(text,
                     fmt::format(R"(a number is expected at {}; write it as in "1h30m" or "1.5s")", quote(start, 16)));
  }
  const auto unit = unit_named(take_until(rest, starts_number), text);
  if (!unit.ok()) return unit.error();

  const auto nanoseconds = times_unit(whole, *unit);
  if (!nanoseconds) return too_long(text);
  // The fraction may exceed kLongest, by less than a unit: the caller checks the sum.
  return *nanoseconds + fraction_of_unit(fraction, *unit);
}

// "1.5" for 1,500 of 1,000.
std::string decimal(std::uint64_t value, std::uint64_t unit) {
  std::string out = fmt::format("{}", value / unit);
  if (value % unit == 0) return out;
  out += '.';
  for (std::uint64_t rest = value % unit; rest != 0; rest %= unit) {
    rest *= 10;
    out += static_cast<char>('0' + rest / unit);
  }
  return out;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with('-')) return malformed(text, R"(must not be negative; leave out the "-")");
  if (rest.starts_with('+')) rest.remove_prefix(1);
  if (rest.empty()) return malformed(text, R"(is empty; write numbers with units, as in "3s" or "1h30m")");
  if (rest == "0") return Duration::zero();

  std::uint64_t sum = 0;
  while (!rest.empty()) {
    const auto term = take_term(rest, text);
    if (!term.ok()) return term.error();
    if (*term > kLongest - sum) return too_long(text);
    sum += *term;
  }
  return Duration(static_cast<Duration::rep>(sum));
}

std::string format_duration(Duration duration) {
  if (duration == Duration::zero()) return "0s";
  const bool negative = duration < Duration::zero();
  // Unsigned, because the most negative duration has no positive counterpart.
  std::uint64_t rest = static_cast<std::uint64_t>(duration.count());
  if (negative) rest = 0 - rest;

  std::string out = negative ? "-" : "";
  if (rest < kMicrosecond) return out + decimal(rest, 1) + "ns";
  if (rest < kMillisecond) return out + decimal(rest, kMicrosecond) + "us";
  if (rest < kSecond) return out + decimal(rest, kMillisecond) + "ms";
  if (rest >= kHour) out += fmt::format("{}h", rest / kHour);
  rest %= kHour;
  if (rest >= kMinute) out += fmt::format("{}m", rest / kMinute);
  rest %= kMinute;
  if (rest > 0) out += decimal(rest, kSecond) + "s";
  return out;
}

}  // namespace horae
