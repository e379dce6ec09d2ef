#include "base/duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace horae {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

struct Reading {
  std::string text;
  Duration value;
};

void expect_readings(const std::vector<Reading>& readings) {
  for (const auto& [text, value] : readings) {
    const auto read = parse_duration(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->count(), value.count()) << text;
  }
}

struct Refusal {
  std::string text;
  std::string reason;
};

void expect_refusals(const std::vector<Refusal>& refusals) {
  for (const auto& [text, reason] : refusals) {
    const auto read = parse_duration(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kMalformed) << text;
    EXPECT_THAT(read.error().message, AllOf(StartsWith("duration \""), HasSubstr(reason)));
  }
}

TEST(Duration, ReadsEveryUnit) {
  expect_readings({
      {"1ns", 1ns},
      {"1us", 1us},
      {"1\u00b5s", 1us},  // the micro sign
      {"1\u03bcs", 1us},  // the Greek letter
      {"1ms", 1ms},
      {"1s", 1s},
      {"1m", 1min},
      {"1h", 1h},
  });
}

TEST(Duration, AddsUpNumbersWithUnits) {
  expect_readings({
      {"1h30m", 90min},
      {"1h1h", 2h},
      {"3h30m0s", 210min},
      {"10.5s4m", 4min + 10500ms},
      {"1m1h", 61min},  // in any order
      {"1h2m3s4ms5us6ns", 1h + 2min + 3s + 4ms + 5us + 6ns},
  });
}

TEST(Duration, ReadsFractions) {
  expect_readings({
      {"1.5h", 90min},
      {".5s", 500ms},
      {"1.s", 1s},
      {"5.6s", 5600ms},
      {"1.004s", 1004ms},
      {"100.00100s", 100001ms},
      {"0.1ms", 100us},
  });
}

TEST(Duration, TruncatesToNanoseconds) {
  expect_readings({
      {"1.9ns", 1ns},
      {"0.9ns0.9ns", 0ns},
      {"0.9999999999s", 999999999ns},
      {"0.333333333333333333h", 20min - 1ns},
      {"0.3333333333333333333333333333333333333333h", 20min - 1ns},
      {"0.830103483285477580700h", 49min + 48s + 372539827ns},
      {"1." + std::string(5000, '9') + "s", 2s - 1ns},
  });
}

TEST(Duration, ReadsZeroWithAndWithoutAUnit) {
  expect_readings({{"0", 0s}, {"+0", 0s}, {"0s", 0s}, {"0.0h", 0s}, {"+5s", 5s}, {"000000000000000000000000001s", 1s}});
}

TEST(Duration, ReadsUpToTheLongestThatFits) {
  expect_readings({
      {"9223372036854775807ns", Duration::max()},
      {"9223372036854775.807us", Duration::max()},
      {"2562047h47m16.854775807s", Duration::max()},
      {"2562047.788015215501h", Duration(9223372036854775803)},
  });
}

TEST(Duration, RefusesOverflow) {
  const std::string reason = "is beyond the longest that fits, 2562047h47m16.854775807s (292 years)";
  expect_refusals({
      {"9223372036854775808ns", reason},
      {"9223372036854775.808us", reason},
      {"2562047h47m16.854775808s", reason},
      {"2562048h", reason},
      {"3000000h", reason},
      {"18446744073709551616ns", reason},
      {"5124096h", reason},  // 2^64 nanoseconds and a little
      {"99999999999999999999999999s", reason},
      {"9223372036854775807ns1ns", reason},
  });
}

TEST(Duration, RefusesNegativeValues) {
  for (const std::string text : {"-5s", "-0", "-", "-.5h", "-x"}) {
    expect_refusals({{text, R"(must not be negative; leave out the "-")"}});
  }
  expect_refusals({{"1h-5m", R"(unknown unit "h-")"}});
}

TEST(Duration, RefusesGarbageAndSaysWhatIsWrong) {
  expect_refusals({
      {"", "is empty"},
      {"+", "is empty"},
      {"3", "a unit is missing"},
      {"00", "a unit is missing"},
      {"1h30", "a unit is missing"},
      {"1.2.3s", "a unit is missing"},
      {"3d", R"(unknown unit "d"; the units are ns, us, µs, ms, s, m, h)"},
      {"3S", R"(unknown unit "S")"},
      {"3 s", R"(unknown unit " s")"},
      {"3s ", R"(unknown unit "s ")"},
      {"1e3s", R"(unknown unit "e")"},
      {" 3s", R"(a number is expected at " 3s")"},
      {"s", R"(a number is expected at "s")"},
      {".", R"(a number is expected at ".")"},
      {".s", R"(a number is expected at ".s")"},
      {"1h.s", R"(a number is expected at ".s")"},
      {"++1s", R"(a number is expected at "+1s")"},
      {"+-1s", R"(a number is expected at "-1s")"},
      {std::string("3s\0", 3), R"(unknown unit "s\x00")"},
      {"3\xb5s", R"(unknown unit "\xb5s")"},  // the micro sign in Latin-1
      {"3\xc2", R"(unknown unit "\xc2")"},
  });
}

TEST(Duration, QuotesOnlyTheBeginningOfALongText) {
  const auto read = parse_duration(std::string(100'000, 'x'));
  ASSERT_FALSE(read.ok());
  EXPECT_LT(read.error().message.size(), 300U);
}

TEST(Duration, WritesTheShortestUsualForm) {
  const std::vector<Reading> forms = {
      {"0s", 0ns},
      {"1ns", 1ns},
      {"999ns", 999ns},
      {"1us", 1us},
      {"1.5us", 1500ns},
      {"250ms", 250ms},
      {"999.999999ms", 1s - 1ns},
      {"1s", 1s},
      {"1.5s", 1500ms},
      {"1.000000001s", 1s + 1ns},
      {"1m", 60s},
      {"1m0.5s", 60500ms},
      {"1h30m", 90min},
      {"1h5s", 1h + 5s},
      {"24h", 24h},
      {"2562047h47m16.854775807s", Duration::max()},
      {"-1h30m", -90min},
      {"-1ns", -1ns},
      {"-2562047h47m16.854775808s", Duration::min()},
  };
  for (const auto& [text, value] : forms) EXPECT_EQ(format_duration(value), text);
}

// Durations of all magnitudes; uniform ones would nearly all be centuries.
rc::Gen<Duration> any_duration() {
  return rc::gen::map(
      rc::gen::pair(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()), rc::gen::inRange(1, 64)),
      [](const std::pair<std::uint64_t, int>& drawn) {
        return Duration(static_cast<Duration::rep>(drawn.first >> drawn.second));
      });
}

RC_GTEST_PROP(Duration, ReadsBackWhatItWrote, ()) {
  const Duration value = *any_duration();
  const auto read = parse_duration(format_duration(value));
  RC_ASSERT(read.ok());
  RC_ASSERT(*read == value);
}

// "1.5000s": a different notation than format_duration()'s.
std::string in_seconds(Duration value, std::size_t zeros) {
  const std::string nanoseconds = std::to_string(value.count() % 1'000'000'000);
  return std::to_string(value.count() / 1'000'000'000) + '.' + std::string(9 - nanoseconds.size(), '0') + nanoseconds +
         std::string(zeros, '0') + 's';
}

RC_GTEST_PROP(Duration, KeepsTheOrderOfTheValuesWritten, ()) {
  const Duration a = *any_duration();
  const Duration b = *any_duration();
  const auto read_a = parse_duration(in_seconds(a, *rc::gen::inRange<std::size_t>(0, 40)));
  const auto read_b = parse_duration(format_duration(b));
  RC_ASSERT(read_a.ok() && read_b.ok());
  RC_ASSERT((*read_a < *read_b) == (a < b));
  RC_ASSERT((*read_a == *read_b) == (a == b));
}

RC_GTEST_PROP(Duration, ReadsConcatenatedTextsAsTheirSum, ()) {
  const Duration a = *any_duration() / 2;
  const Duration b = *any_duration() / 2;
  const auto read = parse_duration(format_duration(a) + format_duration(b));
  RC_ASSERT(read.ok());
  RC_ASSERT(*read == a + b);
}

RC_GTEST_PROP(Duration, SurvivesTextsMadeOfItsOwnParts, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "1", "9", "0", ".", "h", "m", "s", "ms", "us", "\u00b5s", "\xc2", "+", "-", " ", "99999999"));
  std::string text;
  for (const auto& part : parts) text += part;
  const auto read = parse_duration(text);
  if (read.ok()) {
    RC_ASSERT(*read >= 0ns);
  } else {
    RC_ASSERT(read.error().message.size() < 300U);
  }
}

}  // namespace
}  // namespace horae
