#include "base/time_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace horae {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Instant at(std::int64_t seconds_since_1970, std::chrono::microseconds more = 0us) {
  return Instant(std::chrono::seconds(seconds_since_1970)) + more;
}

struct Reading {
  std::string text;
  Instant value;
};

void expect_readings(const std::vector<Reading>& readings, ZoneRule rule = ZoneRule::kRequired) {
  for (const auto& [text, value] : readings) {
    const auto read = parse_instant(text, rule);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->time_since_epoch().count(), value.time_since_epoch().count()) << text;
  }
}

struct Refusal {
  std::string text;
  std::string reason;
};

void expect_refusals(const std::vector<Refusal>& refusals, ZoneRule rule = ZoneRule::kRequired) {
  for (const auto& [text, reason] : refusals) {
    const auto read = parse_instant(text, rule);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kMalformed) << text;
    EXPECT_THAT(read.error().message, AllOf(StartsWith("time \""), HasSubstr(reason)));
  }
}

TEST(TimeText, ReadsUtc) {
  expect_readings({
      {"1970-01-01T00:00:00Z", at(0)},
      {"1969-12-31T23:59:59Z", at(-1)},
      {"2022-12-01T11:09:01Z", at(1669892941)},
      {"2022-12-01t11:09:01z", at(1669892941)},
      {"2000-02-29T00:00:00Z", at(951782400)},
      {"0000-02-29T00:00:00Z", at(-62162121600)},
  });
}

TEST(TimeText, ReadsOffsets) {
  expect_readings({
      {"2022-12-01T13:09:01+02:00", at(1669892941)},
      {"2022-12-01T05:39:01-05:30", at(1669892941)},
      {"2022-12-01T11:09:01+00:00", at(1669892941)},
      {"2022-12-01T11:09:01-00:00", at(1669892941)},
      {"2022-12-02T11:08:01+23:59", at(1669892941)},
      {"2022-11-30T11:10:01-23:59", at(1669892941)},
      {"1970-01-01T00:00:00+00:01", at(-60)},
  });
}

TEST(TimeText, ReadsFractionsOfAnyLength) {
  expect_readings({
      {"1970-01-01T00:00:01.5Z", at(1, 500ms)},
      {"1970-01-01T00:00:01.500Z", at(1, 500ms)},
      {"1970-01-01T00:00:01.123456Z", at(1, 123456us)},
      {"1970-01-01T00:00:01.000001+00:00", at(1, 1us)},
      {"1970-01-01T00:00:01." + std::string(5000, '0') + "Z", at(1)},
  });
}

TEST(TimeText, TruncatesToMicroseconds) {
  expect_readings({
      {"1970-01-01T00:00:01.0000009Z", at(1)},
      {"1970-01-01T00:00:01.123456999Z", at(1, 123456us)},
      {"1969-12-31T23:59:59.9999999Z", at(0, -1us)},  // also before 1970, towards the past
      {"1970-01-01T00:00:01." + std::string(5000, '9') + "Z", at(2, -1us)},
  });
}

TEST(TimeText, ReadsTextWithoutAZoneAsUtcOnlyWhereTheCallerSaysSo) {
  expect_readings({{"2022-12-01T11:09:01", at(1669892941)},
                   {"2022-12-01T11:09:01.25", at(1669892941, 250ms)},
                   {"2022-12-01T13:09:01+02:00", at(1669892941)}},
                  ZoneRule::kUtcWhenNotNamed);
  const std::string reason = R"(the zone must be "Z" or an offset such as "+02:00", not the end)";
  expect_refusals({{"2022-12-01T11:09:01", reason}, {"2022-12-01T11:09:01.25", reason}});
}

TEST(TimeText, ReadsALeapSecondAsTheFirstMomentOfTheNextMinute) {
  const Instant next = at(662688000);  // 1991-01-01
  expect_readings({
      {"1990-12-31T23:59:60Z", next},
      {"1990-12-31T15:59:60-08:00", next},
      {"1991-01-01T05:29:60+05:30", next},
      {"1990-12-31T23:59:60.999Z", next},
      {"1991-01-01T00:00:00Z", next},
  });
  const std::string reason = "the second is 60, but a leap second comes only at 23:59:60 UTC";
  expect_refusals({
      {"1990-12-31T23:58:60Z", reason},
      {"1990-12-31T22:59:60Z", reason},
      {"1990-12-31T23:59:60-08:00", reason},
  });
}

TEST(TimeText, ReadsTheYears0To9999InUtc) {
  expect_readings({
      {"0000-01-01T00:00:00Z", at(-62167219200)},
      {"9999-12-31T23:59:59.999999Z", at(253402300800, -1us)},
      {"0000-01-01T01:00:00+01:00", at(-62167219200)},
      {"9999-12-31T22:59:59-01:00", at(253402300799)},
  });
  EXPECT_EQ(earliest_instant(), at(-62167219200));
  EXPECT_EQ(latest_instant(), at(253402300800, -1us));
  const std::string reason = "is outside the years 0000 to 9999 in UTC";
  expect_refusals({
      {"0000-01-01T00:00:00+00:01", reason},
      {"9999-12-31T23:59:59-00:01", reason},
      {"9999-12-31T23:59:60Z", reason},
  });
}

TEST(TimeText, RefusesDaysThatTheMonthDoesNotHave) {
  expect_refusals({
      {"2023-02-29T00:00:00Z", "the day is 29, but month 02 of 2023 has 28 days"},
      {"2024-02-30T00:00:00Z", "the day is 30, but month 02 of 2024 has 29 days"},
      {"1900-02-29T00:00:00Z", "the day is 29, but month 02 of 1900 has 28 days"},
      {"2023-04-31T00:00:00Z", "the day is 31, but month 04 of 2023 has 30 days"},
      {"2023-04-00T00:00:00Z", "the day is 00, but must be 01 to 31"},
      {"2023-12-32T00:00:00Z", "the day is 32, but must be 01 to 31"},
  });
}

TEST(TimeText, RefusesPartsOutOfTheirRange) {
  expect_refusals({
      {"2023-00-01T00:00:00Z", "the month is 00, but must be 01 to 12"},
      {"2023-13-01T00:00:00Z", "the month is 13, but must be 01 to 12"},
      {"2023-01-01T24:00:00Z", "the hour is 24, but must be 00 to 23"},
      {"2023-01-01T00:60:00Z", "the minute is 60, but must be 00 to 59"},
      {"2023-01-01T00:00:61Z", "the second is 61, but must be 00 to 60"},
      {"2023-01-01T00:00:00+24:00", "the hour of the offset is 24, but must be 00 to 23"},
      {"2023-01-01T00:00:00-01:60", "the minute of the offset is 60, but must be 00 to 59"},
  });
}

TEST(TimeText, RefusesGarbageAndSaysWhatIsWrong) {
  expect_refusals({
      {"", "the year needs 4 digits, not the end"},
      {"now", R"(the year needs 4 digits, not "now")"},
      {"22-12-01T11:09:01Z", R"(the year needs 4 digits, not "22-12-01T11:09:0"...)"},
      {"-022-12-01T11:09:01Z", "the year needs 4 digits"},
      {"+2022-12-01T11:09:01Z", "the year needs 4 digits"},
      {"12022-12-01T11:09:01Z", "'-' is expected before the month, not \"2-12-01T11:09:01\"..."},
      {"20221201T110901Z", "'-' is expected before the month"},
      {"2022-1-01T11:09:01Z", "the month needs 2 digits"},
      {"2022-12-1T11:09:01Z", "the day needs 2 digits"},
      {"2022-12-01", "'T' is expected before the hour, not the end"},
      {"2022-12-01 11:09:01Z", "'T' is expected before the hour, not \" 11:09:01Z\""},
      {"2022-12-01T11", "':' is expected before the minute, not the end"},
      {"2022-12-01T11:09Z", "':' is expected before the second, not \"Z\""},
      {"2022-12-01T1:09:01Z", "the hour needs 2 digits"},
      {"2022-12-01T11:9:01Z", "the minute needs 2 digits"},
      {"2022-12-01T11:09:1Z", "the second needs 2 digits"},
      {"2022-12-01T11:09:01.Z", R"(digits are expected after '.', not "Z")"},
      {"2022-12-01T11:09:01,5Z", R"(the zone must be "Z" or an offset such as "+02:00", not ",5Z")"},
      {"2022-12-01T11:09:01UTC", R"(not "UTC")"},
      {"2022-12-01T11:09:01 Z", R"(not " Z")"},
      {"2022-12-01T11:09:01+2:00", R"(the hour of the offset needs 2 digits, not "2:00")"},
      {"2022-12-01T11:09:01+0200", "':' is expected before the minute of the offset"},
      {"2022-12-01T11:09:01+02", "':' is expected before the minute of the offset, not the end"},
      {"2022-12-01T11:09:01-+02:00", "the hour of the offset needs 2 digits"},
      {"2022-12-01T11:09:01+02:00:00", R"(":00" follows the zone)"},
      {"2022-12-01T11:09:01Z ", R"(" " follows the zone)"},
      {std::string("2022-12-01T11:09:01Z\0", 21), R"("\x00" follows the zone)"},
      {"2022-12-01T11:09:0\xd9\xa1Z", "the second needs 2 digits, not \"0\xd9\xa1Z\""},
  });
}

TEST(TimeText, RefusesGarbageWhenTheZoneIsOptional) {
  expect_refusals({{"2022-12-01T11:09:01x", R"(the zone must be)"},
                   {"2022-12-01T11:09:01.", "digits are expected after '.', not the end"},
                   {"2022-12-01T11:09", "':' is expected before the second"},
                   {"2022-12-01", "'T' is expected before the hour"}},
                  ZoneRule::kUtcWhenNotNamed);
}

TEST(TimeText, QuotesOnlyTheBeginningOfALongText) {
  const auto read = parse_instant(std::string(100'000, '\n'));
  ASSERT_FALSE(read.ok());
  EXPECT_LT(read.error().message.size(), 300U);
}

TEST(TimeText, WritesUtcWithNoThreeOrSixDigitsOfFraction) {
  const std::vector<Reading> forms = {
      {"2022-12-01T11:09:01Z", at(1669892941)},
      {"2022-12-01T11:09:01.500Z", at(1669892941, 500ms)},
      {"2022-12-01T11:09:01.000001Z", at(1669892941, 1us)},
      {"2022-12-01T11:09:01.123450Z", at(1669892941, 123450us)},
      {"1969-12-31T23:59:59.999Z", at(0, -1ms)},
      {"0000-01-01T00:00:00Z", earliest_instant()},
      {"9999-12-31T23:59:59.999999Z", latest_instant()},
  };
  for (const auto& [text, value] : forms) EXPECT_EQ(format_instant(value), text);
}

TEST(TimeTextDeathTest, FormatsOnlyTheYears0To9999) {
  EXPECT_DEATH(format_instant(earliest_instant() - 1us), "years 0 to 9999");
  EXPECT_DEATH(format_instant(latest_instant() + 1us), "years 0 to 9999");
}

rc::Gen<Instant> any_instant() {
  const auto low = earliest_instant().time_since_epoch().count();
  const auto high = latest_instant().time_since_epoch().count();
  const auto micros = rc::gen::inRange(low, high + 1);
  // Includes whole seconds and milliseconds, which arbitrary microseconds practically never hit.
  return rc::gen::map(rc::gen::pair(micros, rc::gen::element(1, 1'000, 1'000'000)),
                      [](const std::pair<std::int64_t, int>& drawn) {
                        return Instant(std::chrono::microseconds(drawn.first / drawn.second * drawn.second));
                      });
}

RC_GTEST_PROP(TimeText, ReadsBackWhatItWrote, ()) {
  const Instant instant = *any_instant();
  const auto read = parse_instant(format_instant(instant));
  RC_ASSERT(read.ok());
  RC_ASSERT(*read == instant);
}

// The same instant in the local time of a zone that is `ahead` of UTC.
std::string in_zone(Instant instant, std::chrono::minutes ahead) {
  std::string text = format_instant(instant + ahead);
  text.pop_back();
  const auto two = [](auto number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  const auto minutes = std::abs(ahead.count());
  return text + (ahead < 0min ? '-' : '+') + two(minutes / 60) + ':' + two(minutes % 60);
}

RC_GTEST_PROP(TimeText, ReadsTheSameInstantInEveryZone, ()) {
  const Instant instant = std::clamp(*any_instant(), earliest_instant() + 24h, latest_instant() - 24h);
  const std::chrono::minutes ahead(*rc::gen::inRange(-1439, 1440));
  const auto read = parse_instant(in_zone(instant, ahead));
  RC_ASSERT(read.ok());
  RC_ASSERT(*read == instant);
}

RC_GTEST_PROP(TimeText, KeepsTheOrderOfTheValuesWritten, ()) {
  const Instant a = std::clamp(*any_instant(), earliest_instant() + 24h, latest_instant() - 24h);
  const Instant b = *rc::gen::oneOf(any_instant(), rc::gen::just(a), rc::gen::just(a + 1us));
  const auto read_a = parse_instant(in_zone(a, std::chrono::minutes(*rc::gen::inRange(-1439, 1440))));
  const auto read_b = parse_instant(format_instant(b));
  RC_ASSERT(read_a.ok() && read_b.ok());
  RC_ASSERT((*read_a < *read_b) == (a < b));
  RC_ASSERT((*read_a == *read_b) == (a == b));
}

RC_GTEST_PROP(TimeText, SurvivesATextWithOneByteChanged, ()) {
  std::string text = in_zone(std::clamp(*any_instant(), earliest_instant() + 24h, latest_instant() - 24h), 90min);
  text.at(*rc::gen::inRange<std::size_t>(0, text.size())) = *rc::gen::arbitrary<char>();
  const auto read = parse_instant(text, *rc::gen::element(ZoneRule::kRequired, ZoneRule::kUtcWhenNotNamed));
  if (read.ok()) {
    RC_ASSERT(*parse_instant(format_instant(*read)) == *read);
  } else {
    RC_ASSERT(read.error().message.size() < 300U);
  }
}

}  // namespace
}  // namespace horae
