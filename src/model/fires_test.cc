#include "model/fires.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/time_text.h"

namespace horae {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;

Instant at(std::string_view text) { return parse_instant(text).value(); }

// Fires between two instants, in UTC, without date and seconds if the date is that of `from`.
std::vector<std::string> fires(const CalendarRule& rule, std::string_view zone, std::string_view from,
                               std::string_view to) {
  const auto in = system_zones().find(zone).value();
  std::vector<std::string> found;
  for (auto fire = next_fire(rule, *in, at(from) - 1us); fire && *fire < at(to); fire = next_fire(rule, *in, *fire)) {
    found.push_back(format_instant(*fire));
  }
  return found;
}

CalendarRule rule(std::string_view cron, GapRule gap = GapRule::kNext, FoldRule fold = FoldRule::kFirst) {
  return {parse_cron(cron).value(), gap, fold};
}

// Berlin, 30 March 2025: 02:00 to 03:00 is skipped at 01:00 UTC.
TEST(Fires, AFixedHourInAGapFiresOnceAtItsEnd) {
  EXPECT_THAT(fires(rule("30 2 * * *"), "Europe/Berlin", "2025-03-29T00:00:00Z", "2025-04-01T00:00:00Z"),
              ElementsAre("2025-03-29T01:30:00Z", "2025-03-30T01:00:00Z", "2025-03-31T00:30:00Z"));
  EXPECT_THAT(fires(rule("*/20 2 * * *"), "Europe/Berlin", "2025-03-30T00:00:00Z", "2025-03-30T12:00:00Z"),
              ElementsAre("2025-03-30T01:00:00Z"));
  EXPECT_THAT(fires(rule("0 2,3 * * *"), "Europe/Berlin", "2025-03-30T00:00:00Z", "2025-03-30T12:00:00Z"),
              ElementsAre("2025-03-30T01:00:00Z"));
}

TEST(Fires, AFixedHourInAGapIsLeftOutByTheRuleSkip) {
  EXPECT_THAT(
      fires(rule("30 2 * * *", GapRule::kSkip), "Europe/Berlin", "2025-03-29T00:00:00Z", "2025-04-01T00:00:00Z"),
      ElementsAre("2025-03-29T01:30:00Z", "2025-03-31T00:30:00Z"));
}

// Berlin, 26 October 2025: 02:00 to 03:00 comes twice, from 00:00 and from 01:00 UTC.
TEST(Fires, AFixedHourInAFoldFiresByItsRule) {
  const auto in_fold = [](FoldRule fold) {
    return fires(rule("30 2 * * *", GapRule::kNext, fold), "Europe/Berlin", "2025-10-26T00:00:00Z",
                 "2025-10-26T12:00:00Z");
  };
  EXPECT_THAT(in_fold(FoldRule::kFirst), ElementsAre("2025-10-26T00:30:00Z"));
  EXPECT_THAT(in_fold(FoldRule::kSecond), ElementsAre("2025-10-26T01:30:00Z"));
  EXPECT_THAT(in_fold(FoldRule::kBoth), ElementsAre("2025-10-26T00:30:00Z", "2025-10-26T01:30:00Z"));
}

TEST(Fires, AStarInTheHourFollowsRealTime) {
  EXPECT_THAT(fires(rule("30 * * * *"), "Europe/Berlin", "2025-03-30T00:00:00Z", "2025-03-30T03:00:00Z"),
              ElementsAre("2025-03-30T00:30:00Z", "2025-03-30T01:30:00Z", "2025-03-30T02:30:00Z"));
  EXPECT_THAT(fires(rule("30 * * * *"), "Europe/Berlin", "2025-10-25T23:00:00Z", "2025-10-26T02:00:00Z"),
              ElementsAre("2025-10-25T23:30:00Z", "2025-10-26T00:30:00Z", "2025-10-26T01:30:00Z"));
}

// 02:00 becomes 02:30 on 5 October 2025 (15:30 UTC the day before), and 02:00 becomes 01:30 on 5 April 2026 (15:00 UTC).
TEST(Fires, LordHoweMovesByHalfAnHour) {
  EXPECT_THAT(fires(rule("15 2 * * *"), "Australia/Lord_Howe", "2025-10-04T12:00:00Z", "2025-10-05T12:00:00Z"),
              ElementsAre("2025-10-04T15:30:00Z"));
  EXPECT_THAT(fires(rule("45 1 * * *", GapRule::kNext, FoldRule::kBoth), "Australia/Lord_Howe", "2026-04-04T12:00:00Z",
                    "2026-04-05T12:00:00Z"),
              ElementsAre("2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"));
}

// Both begin their day of change at 01:00: midnight is skipped.
TEST(Fires, CairoAndBeirutSkipMidnight) {
  EXPECT_THAT(fires(rule("@daily"), "Africa/Cairo", "2025-04-24T12:00:00Z", "2025-04-26T00:00:00Z"),
              ElementsAre("2025-04-24T22:00:00Z", "2025-04-25T21:00:00Z"));
  EXPECT_THAT(fires(rule("@daily"), "Asia/Beirut", "2025-03-29T12:00:00Z", "2025-03-31T00:00:00Z"),
              ElementsAre("2025-03-29T22:00:00Z", "2025-03-30T21:00:00Z"));
}

// 03:00 becomes 02:00 on 15 February 2026, and 02:00 becomes 03:00 on 22 March 2026.
TEST(Fires, CasablancaGoesBackForRamadan) {
  EXPECT_THAT(fires(rule("30 2 * * *"), "Africa/Casablanca", "2026-02-14T12:00:00Z", "2026-02-16T12:00:00Z"),
              ElementsAre("2026-02-15T01:30:00Z", "2026-02-16T02:30:00Z"));
  EXPECT_THAT(fires(rule("30 2 * * *"), "Africa/Casablanca", "2026-03-21T12:00:00Z", "2026-03-23T12:00:00Z"),
              ElementsAre("2026-03-22T02:00:00Z", "2026-03-23T01:30:00Z"));
}

// The 30th of December 2011 did not exist.
TEST(Fires, ApiaFiresOnceForTheDayThatWasLeftOut) {
  EXPECT_THAT(fires(rule("0 9,17 * * *"), "Pacific/Apia", "2011-12-29T12:00:00Z", "2011-12-31T12:00:00Z"),
              ElementsAre("2011-12-29T19:00:00Z", "2011-12-30T03:00:00Z", "2011-12-30T10:00:00Z",
                          "2011-12-30T19:00:00Z", "2011-12-31T03:00:00Z"));
  EXPECT_THAT(
      fires(rule("0 9 30 12 *", GapRule::kSkip), "Pacific/Apia", "2011-01-01T00:00:00Z", "2012-06-01T00:00:00Z"),
      ElementsAre());
}

// 01:00 becomes 03:00 on 29 March 2026; 03:00 becomes 01:00 on 25 October 2026. Both at 01:00 UTC.
TEST(Fires, TrollMovesByTwoHours) {
  EXPECT_THAT(fires(rule("30 1,2 * * *"), "Antarctica/Troll", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z"),
              ElementsAre("2026-03-29T01:00:00Z"));
  EXPECT_THAT(fires(rule("30 1,2 * * *", GapRule::kNext, FoldRule::kSecond), "Antarctica/Troll", "2026-10-24T22:00:00Z",
                    "2026-10-25T12:00:00Z"),
              ElementsAre("2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"));
}

TEST(Fires, AnExpressionThatOnlyNamesSkippedTimesNeverFires) {
  EXPECT_EQ(next_fire(rule("30 2 * 3 SUNL", GapRule::kSkip), *system_zones().find("Europe/Berlin").value(),
                      at("2025-01-01T00:00:00Z")),
            std::nullopt);
}

TEST(Fires, TheCalendarEndsWithTheYear9999) {
  const auto utc = system_zones().find("UTC").value();
  EXPECT_EQ(next_fire(rule("* * * * *"), *utc, at("9999-12-31T23:59:00Z")), std::nullopt);
  EXPECT_EQ(previous_fire(rule("* * * * *"), *utc, at("0000-01-01T00:00:00Z")), std::nullopt);
  EXPECT_EQ(previous_fire(rule("* * * * *"), *utc, at("0000-01-01T00:00:01Z")), at("0000-01-01T00:00:00Z"));
}

// ---- Laws ----

std::string any_field(int least, int most) {
  const int first = *rc::gen::inRange(least, most + 1);
  const int last = *rc::gen::inRange(first, most + 1);
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      return "*";
    case 1:
      return "*/" + std::to_string(*rc::gen::inRange(1, most));
    case 2:
      return std::to_string(first) + "-" + std::to_string(last);
    case 3:
      return std::to_string(first) + "," + std::to_string(last);
    default:
      return std::to_string(first);
  }
}

CalendarRule any_rule() {
  const auto text = *rc::gen::exec([] {
    const std::string second = *rc::gen::inRange(0, 4) == 0 ? any_field(0, 59) + " " : "";
    return second + any_field(0, 59) + " " + any_field(0, 23) + " " + any_field(1, 28) + " " + any_field(1, 12) + " " +
           any_field(0, 6);
  });
  RC_LOG() << text << '\n';
  const auto cron = parse_cron(text);
  RC_PRE(cron.ok());
  return {*cron, *rc::gen::element(GapRule::kNext, GapRule::kSkip),
          *rc::gen::element(FoldRule::kFirst, FoldRule::kSecond, FoldRule::kBoth)};
}

std::shared_ptr<const Zone> any_zone() {
  const auto name = *rc::gen::elementOf(system_zones().names());
  RC_LOG() << name << '\n';
  return system_zones().find(name).value();
}

Instant any_instant() {
  return at("2025-01-01T00:00:00Z") +
         std::chrono::microseconds(*rc::gen::inRange<std::int64_t>(0, 640'000'000'000'000));
}

RC_GTEST_PROP(Fires, AscendStrictlyAndNextOfPreviousIsTheSame, ()) {
  const CalendarRule each = any_rule();
  const auto zone = any_zone();
  Instant last = any_instant();
  for (int i = 0; i < 20; ++i) {
    const auto fire = next_fire(each, *zone, last);
    if (!fire) return;
    RC_ASSERT(*fire > last);
    if (i > 0) RC_ASSERT(previous_fire(each, *zone, *fire) == last);
    if (const auto before = previous_fire(each, *zone, *fire)) RC_ASSERT(next_fire(each, *zone, *before) == fire);
    last = *fire;
  }
}

RC_GTEST_PROP(Fires, NoneIsLostBetweenTwoLooks, ()) {
  const CalendarRule each = any_rule();
  const auto zone = any_zone();
  const Instant begin = any_instant();
  const auto fire = next_fire(each, *zone, begin);
  if (!fire) return;
  const auto gap = (*fire - begin).count();
  // Each look from a time before the fire finds it, and so does each look back from after it.
  const Instant look = begin + std::chrono::microseconds(*rc::gen::inRange<std::int64_t>(0, gap));
  RC_ASSERT(next_fire(each, *zone, look) == fire);
  const auto next = next_fire(each, *zone, *fire);
  if (!next) return;
  const Instant back =
      *fire + std::chrono::microseconds(*rc::gen::inRange<std::int64_t>(1, (*next - *fire).count() + 1));
  RC_ASSERT(previous_fire(each, *zone, back) == fire);
}

}  // namespace
}  // namespace horae
