#include "base/zone/zone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time_text.h"

namespace horae {
namespace {

using std::chrono::floor;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;

UtcSeconds utc(std::string_view text) { return floor<seconds>(parse_instant(text).value()); }

std::shared_ptr<const Zone> zone(std::string_view name) { return system_zones().find(name).value(); }

seconds offset(std::string_view name, std::string_view at) { return zone(name)->span_at(utc(at)).offset; }

TEST(Zone, UtcNeverChanges) {
  EXPECT_EQ(zone("UTC")->span_at(utc("2025-06-01T00:00:00Z")), ZoneSpan{});
  EXPECT_EQ(zone("UTC")->name(), "UTC");
}

TEST(Zone, AChangeBeginsTheNewSpan) {
  const auto berlin = zone("Europe/Berlin");
  const ZoneSpan winter = berlin->span_at(utc("2025-03-30T00:59:59Z"));
  const ZoneSpan summer = berlin->span_at(utc("2025-03-30T01:00:00Z"));
  EXPECT_EQ(winter, (ZoneSpan{utc("2024-10-27T01:00:00Z"), utc("2025-03-30T01:00:00Z"), 1h}));
  EXPECT_EQ(summer, (ZoneSpan{utc("2025-03-30T01:00:00Z"), utc("2025-10-26T01:00:00Z"), 2h}));
}

TEST(Zone, KnowsChangesPastTheTablesOfItsFile) {
  EXPECT_EQ(offset("Europe/Berlin", "2044-07-01T00:00:00Z"), 2h);
  EXPECT_EQ(offset("Europe/Berlin", "2044-12-01T00:00:00Z"), 1h);
  EXPECT_EQ(offset("America/New_York", "2399-07-01T00:00:00Z"), -4h);
  EXPECT_EQ(offset("America/New_York", "9998-07-01T00:00:00Z"), -4h);
}

TEST(Zone, LordHoweMovesByHalfAnHour) {
  EXPECT_EQ(offset("Australia/Lord_Howe", "2026-01-01T00:00:00Z"), 11h);
  EXPECT_EQ(offset("Australia/Lord_Howe", "2026-07-01T00:00:00Z"), 10h + 30min);
}

TEST(Zone, TrollMovesByTwoHours) {
  EXPECT_EQ(offset("Antarctica/Troll", "2026-01-01T00:00:00Z"), 0h);
  EXPECT_EQ(offset("Antarctica/Troll", "2026-07-01T00:00:00Z"), 2h);
}

TEST(Zone, ApiaLeftOutADay) {
  const ZoneSpan after = zone("Pacific/Apia")->span_at(utc("2011-12-30T10:00:00Z"));
  EXPECT_EQ(after.begin, utc("2011-12-30T10:00:00Z"));
  EXPECT_EQ(after.offset, 14h);
  EXPECT_EQ(offset("Pacific/Apia", "2011-12-30T09:59:59Z"), -10h);
}

TEST(Zone, CasablancaGoesBackForRamadan) {
  EXPECT_EQ(offset("Africa/Casablanca", "2026-02-01T00:00:00Z"), 1h);
  EXPECT_EQ(offset("Africa/Casablanca", "2026-03-01T00:00:00Z"), 0h);
  EXPECT_EQ(offset("Africa/Casablanca", "2026-04-01T00:00:00Z"), 1h);
}

// Spans of all zones follow each other without gaps, so that a walk along them ends.
TEST(Zone, SpansFollowEachOther) {
  for (const std::string& name : system_zones().names()) {
    const auto each = zone(name);
    ZoneSpan span = each->span_at(kEarliestSecond);
    ASSERT_EQ(span.begin, kEarliestSecond) << name;
    while (span.end < utc("2060-01-01T00:00:00Z")) {
      const ZoneSpan next = each->span_at(span.end);
      ASSERT_EQ(next.begin, span.end) << name;
      ASSERT_EQ(each->span_at(span.end - 1s), span) << name;
      span = next;
    }
  }
}

TEST(ZoneDatabase, HasAVersionAndTheUsualNames) {
  EXPECT_THAT(system_zones().version(), testing::MatchesRegex("20[0-9][0-9][a-z]+"));
  EXPECT_THAT(system_zones().names(), testing::IsSupersetOf({"Europe/Berlin", "US/Eastern", "Etc/UTC"}));
}

TEST(ZoneDatabase, SuggestsTheNearestName) {
  const auto suggestion = [](std::string_view name) { return system_zones().find(name).error().message; };
  EXPECT_THAT(suggestion("Europe/Belin"),
              AllOf(HasSubstr("zone \"Europe/Belin\""), HasSubstr("is Europe/Berlin meant?")));
  EXPECT_THAT(suggestion("europe/berlin"), HasSubstr("is Europe/Berlin meant?"));
  EXPECT_THAT(suggestion("New_Yrok"), HasSubstr("is America/New_York meant?"));
  EXPECT_THAT(suggestion("qqqqqqqqqqqq"), HasSubstr("give a name such as"));
  EXPECT_THAT(suggestion(std::string(100'000, 'x')), HasSubstr("give a name such as"));
}

TEST(ZoneDatabase, RefusesPathsAndNamesThatOnlyTheLibraryKnows) {
  for (const char* name : {"", "/etc/passwd", "../zoneinfo/Europe/Berlin", "/usr/share/zoneinfo/Europe/Berlin",
                           "localtime", "libc:localtime", "Fixed/UTC+01:00:00", "posix/Europe/Berlin", "right/UTC"}) {
    EXPECT_EQ(system_zones().find(name).error().code, ErrorCode::kRefused) << name;
  }
}

TEST(ZoneDatabase, WithoutADatabaseThereIsOnlyUtc) {
  const ZoneDatabase none("/nonexistent");
  EXPECT_EQ(none.version(), "none");
  EXPECT_TRUE(none.find("UTC").ok());
  EXPECT_THAT(none.find("Europe/Berlin").error().message, HasSubstr("install tzdata"));
}

}  // namespace
}  // namespace horae
