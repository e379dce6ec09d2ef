#include "model/cron.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time_text.h"

namespace horae {
namespace {

using std::chrono::local_days;
using std::chrono::seconds;
using std::chrono::year;
using ::testing::HasSubstr;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;

LocalSeconds local(std::string_view text) {
  return LocalSeconds(std::chrono::floor<seconds>(parse_instant(std::string(text) + "Z").value()).time_since_epoch());
}

std::string text_of(std::optional<LocalSeconds> time) {
  if (!time) return "never";
  std::string text = format_instant(Instant(time->time_since_epoch()));
  text.pop_back();
  return text;
}

std::string next(std::string_view cron, std::string_view from) {
  return text_of(first_match(parse_cron(cron).value(), local(from), local_days(year(2500) / 1 / 1)));
}

std::string last(std::string_view cron, std::string_view until) {
  return text_of(last_match(parse_cron(cron).value(), local_days(year(1500) / 1 / 1), local(until)));
}

std::string fault(std::string_view cron) {
  const auto parsed = parse_cron(cron);
  return parsed.ok() ? "no fault" : parsed.error().message;
}

std::string words(std::string_view cron) { return in_words(parse_cron(cron).value()); }

TEST(Cron, FindsTheFirstMatchFromATimeOn) {
  EXPECT_EQ(next("* * * * *", "2025-01-01T00:00:00"), "2025-01-01T00:00:00");
  EXPECT_EQ(next("* * * * *", "2025-01-01T00:00:01"), "2025-01-01T00:01:00");
  EXPECT_EQ(next("30 2 * * *", "2025-01-01T02:30:01"), "2025-01-02T02:30:00");
  EXPECT_EQ(next("0 12 1 1 *", "2025-01-01T12:00:01"), "2026-01-01T12:00:00");
  EXPECT_EQ(next("59 23 31 12 *", "2025-06-01T00:00:00"), "2025-12-31T23:59:00");
}

TEST(Cron, FindsTheLastMatchBeforeATime) {
  EXPECT_EQ(last("* * * * *", "2025-01-01T00:00:00"), "2024-12-31T23:59:00");
  EXPECT_EQ(last("* * * * *", "2025-01-01T00:00:01"), "2025-01-01T00:00:00");
  EXPECT_EQ(last("30 2 * * *", "2025-01-01T02:30:00"), "2024-12-31T02:30:00");
  EXPECT_EQ(last("*/10 5 10 3 *", "2025-03-10T05:10:01"), "2025-03-10T05:10:00");
}

TEST(Cron, SixFieldsBeginWithTheSecond) {
  EXPECT_EQ(next("15,45 * * * * *", "2025-01-01T00:00:16"), "2025-01-01T00:00:45");
  EXPECT_EQ(next("15,45 * * * * *", "2025-01-01T00:00:46"), "2025-01-01T00:01:15");
  EXPECT_EQ(last("15,45 * * * * *", "2025-01-01T00:00:15"), "2024-12-31T23:59:45");
}

TEST(Cron, ReadsListsRangesStepsAndNames) {
  EXPECT_EQ(parse_cron("0,20-29/3,40 * * * *").value().minutes,
            1ULL << 0 | 1ULL << 20 | 1ULL << 23 | 1ULL << 26 | 1ULL << 29 | 1ULL << 40);
  EXPECT_EQ(parse_cron("0 0 * jan,Jul-SEP *").value().months, 1 << 1 | 1 << 7 | 1 << 8 | 1 << 9);
  EXPECT_EQ(parse_cron("0 0 * * mon-FRI").value().weekdays, 0b0111110);
  EXPECT_EQ(parse_cron("0 0 * * SAT-SUN").value().weekdays, 0b1000001);
  EXPECT_EQ(parse_cron("0 0 * * 5-7").value().weekdays, 0b1100001);
  EXPECT_EQ(parse_cron("0 0 * * 0").value(), parse_cron("0 0 * * 7").value());
  EXPECT_EQ(parse_cron("\t0  0 * * *  ").value(), parse_cron("0 0 * * *").value());
}

TEST(Cron, NamesStandForExpressions) {
  EXPECT_EQ(parse_cron("@hourly").value(), parse_cron("0 * * * *").value());
  EXPECT_EQ(parse_cron("@daily").value(), parse_cron("0 0 * * *").value());
  EXPECT_EQ(parse_cron("@weekly").value(), parse_cron("0 0 * * SUN").value());
  EXPECT_EQ(parse_cron("@yearly").value(), parse_cron("@annually").value());
}

TEST(Cron, KnowsTheEndOfEachMonth) {
  EXPECT_EQ(next("0 0 L * *", "2024-02-01T00:00:00"), "2024-02-29T00:00:00");
  EXPECT_EQ(next("0 0 L * *", "2025-02-01T00:00:00"), "2025-02-28T00:00:00");
  EXPECT_EQ(next("0 0 15,L * *", "2025-04-16T00:00:00"), "2025-04-30T00:00:00");
  EXPECT_EQ(next("0 0 31 * *", "2025-02-01T00:00:00"), "2025-03-31T00:00:00");
  EXPECT_EQ(next("0 0 29 2 *", "2025-01-01T00:00:00"), "2028-02-29T00:00:00");
  EXPECT_EQ(next("0 0 29 2 *", "2096-03-01T00:00:00"), "2104-02-29T00:00:00");
}

TEST(Cron, CountsDaysOfTheWeekWithinTheMonth) {
  EXPECT_EQ(next("0 0 * * FRI#2", "2025-01-01T00:00:00"), "2025-01-10T00:00:00");
  EXPECT_EQ(next("0 0 * * 5#5", "2025-02-01T00:00:00"), "2025-05-30T00:00:00");
  EXPECT_EQ(next("0 0 * * FRIL", "2025-01-01T00:00:00"), "2025-01-31T00:00:00");
  EXPECT_EQ(next("0 0 * * 1L,3#1", "2025-01-02T00:00:00"), "2025-01-27T00:00:00");
  EXPECT_EQ(next("0 0 * 2 FRI#5", "2025-01-01T00:00:00"), "2036-02-29T00:00:00");
}

// As in Vixie cron.
TEST(Cron, DayOfMonthAndDayOfWeekAreAlternativesUnlessOneBeginsWithAStar) {
  EXPECT_EQ(next("0 0 13 * FRI", "2025-06-01T00:00:00"), "2025-06-06T00:00:00");
  EXPECT_EQ(next("0 0 13 * FRI", "2025-06-07T00:00:00"), "2025-06-13T00:00:00");
  EXPECT_EQ(next("0 0 13 * FRI", "2025-01-11T00:00:00"), "2025-01-13T00:00:00");
  EXPECT_EQ(next("0 0 */2 * MON", "2025-06-01T00:00:00"), "2025-06-09T00:00:00");
  EXPECT_EQ(next("0 0 13 * *", "2025-06-01T00:00:00"), "2025-06-13T00:00:00");
}

TEST(Cron, AStarOrAStepInTheHourFollowsRealTime) {
  for (const char* cron : {"0 * * * *", "0 */2 * * *", "0 8-18/2 * * *", "@hourly"}) {
    EXPECT_TRUE(parse_cron(cron).value().follows_real_time) << cron;
  }
  for (const char* cron : {"*/5 2 * * *", "0 0-23 * * *", "0 1,2 * * *", "@daily"}) {
    EXPECT_FALSE(parse_cron(cron).value().follows_real_time) << cron;
  }
}

TEST(Cron, AFaultNamesTheFieldAndThePosition) {
  EXPECT_EQ(fault("0 25 * * *"), "cron \"0 25 * * *\": hour (character 3): 25 is out of range: give 0 to 23");
  EXPECT_THAT(fault("60 * * * *"), HasSubstr("minute (character 1)"));
  EXPECT_THAT(fault("61 * * * * *"), HasSubstr("second (character 1)"));
  EXPECT_THAT(fault("0 0 0 * *"), HasSubstr("day of month (character 5)"));
  EXPECT_THAT(fault("0 0 1 1-13 *"), HasSubstr("month (character 9)"));
  EXPECT_THAT(fault("0 0 * * 1,8"), HasSubstr("day of week (character 11)"));
  EXPECT_THAT(fault("0 0 * * MOO"), HasSubstr("names have three letters"));
  EXPECT_THAT(fault("0 0 * * MONDAY"), HasSubstr("(character 12): \"DAY\" is unexpected here"));
  EXPECT_THAT(fault("5,, * * * *"), HasSubstr("minute (character 3)"));
  EXPECT_THAT(fault("5, * * * *"), HasSubstr("the field ends where a value is needed"));
  EXPECT_THAT(fault("99999999999999999999 * * * *"), HasSubstr("too large"));
}

TEST(Cron, SaysWhatToWriteInstead) {
  EXPECT_THAT(fault("5/15 * * * *"), HasSubstr("write 5-59/n"));
  EXPECT_THAT(fault("*/60 * * * *"), HasSubstr("a step is 1 to 59, not 60"));
  EXPECT_THAT(fault("*/0 * * * *"), HasSubstr("a step is 1 to 59, not 0"));
  EXPECT_THAT(fault("0 22-2 * * *"), HasSubstr("write two: 22-23,0-2"));
  EXPECT_THAT(fault("0 0 ? * MON"), HasSubstr("write * for any"));
  EXPECT_THAT(fault("0 0 W * *"), HasSubstr("the nearest weekday) is not supported"));
  EXPECT_THAT(fault("0 0 15W * *"), HasSubstr("day of month (character 7)"));
  EXPECT_THAT(fault("0 0 * * L"), HasSubstr("day of week (character 9)"));
  EXPECT_THAT(fault("0 0 * * FRI#6"), HasSubstr("give 1 to 5"));
  EXPECT_THAT(fault("@reboot"), HasSubstr("the names are @hourly"));
  EXPECT_THAT(fault(""), HasSubstr("it has 0 fields"));
  EXPECT_THAT(fault("* * * * * * *"), HasSubstr("it has 7 fields"));
  EXPECT_THAT(fault(std::string(257, ' ')), HasSubstr("257 bytes"));
}

TEST(Cron, RefusesDatesThatTheCalendarDoesNotHave) {
  EXPECT_THAT(fault("0 0 30 2 *"), HasSubstr("day of month (character 5): the calendar has no such date"));
  EXPECT_THAT(fault("0 0 31 2,4,6,9,11 *"), HasSubstr("no such date"));
  EXPECT_THAT(fault("0 0 */5 2 5#5"), HasSubstr("no such date"));
  EXPECT_EQ(fault("0 0 30 2 MON"), "no fault");
  EXPECT_EQ(fault("0 0 31 * *"), "no fault");
}

TEST(Cron, IsDescribedInWords) {
  EXPECT_EQ(words("* * * * *"), "every minute");
  EXPECT_EQ(words("*/15 * * * *"), "every 15 minutes");
  EXPECT_EQ(words("*/10 * * * * *"), "every 10 seconds");
  EXPECT_EQ(words("* * 2 * * *"), "every second of hour 2");
  EXPECT_EQ(words("0 * * * *"), "at minute 0");
  EXPECT_EQ(words("30 2 * * *"), "at 02:30");
  EXPECT_EQ(words("5 30 2 * * *"), "at 02:30:05");
  EXPECT_EQ(words("0 9,17 * * MON-FRI"), "at 09:00 and 17:00 on Monday to Friday");
  EXPECT_EQ(words("*/20 9-17 * * *"), "every 20 minutes of hours 9 to 17");
  EXPECT_EQ(words("7,8 */6 * * *"), "at minutes 7 and 8 of every 6 hours from 0");
  EXPECT_EQ(words("0 0 1,15,L * *"), "at 00:00 on days 1 and 15 and the last day of the month");
  EXPECT_EQ(words("0 0 13 * FRI"), "at 00:00 on day 13 of the month or on Friday");
  EXPECT_EQ(words("0 0 */10 * MON"), "at 00:00 on days 1, 11, 21 and 31 of the month if it is Monday");
  EXPECT_EQ(words("0 0 * 1,6-8 SAT,SUN"), "at 00:00 on Saturday and Sunday in January and June to August");
  EXPECT_EQ(words("0 0 * * FRIL,TUE#2"),
            "at 00:00 on the second Tuesday of the month and the last Friday of the month");
}

}  // namespace
}  // namespace horae
