// Fires around every change of every zone from 2025 to 2045, against a search through all minutes, or seconds, of UTC.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "model/fires.h"

namespace horae {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono_literals::operator""y;

constexpr UtcSeconds kFrom = sys_days(2025y / 1 / 1);
constexpr UtcSeconds kUntil = sys_days(2046y / 1 / 1);

constexpr const char* kByMinute[] = {"* * * * *", "*/15 * * * *",   "30 * * * *",  "0 */2 * * *",   "30 2 * * *",
                                     "0 0 * * *", "*/20 1-2 * * *", "59 23 * * *", "0 1,3 * * SUN", "5 0,2 L * *"};
constexpr const char* kBySecond[] = {"30 59 * * * *", "*/20 */7 1,2,23 * * *"};

constexpr GapRule kGaps[] = {GapRule::kNext, GapRule::kSkip};
constexpr FoldRule kFolds[] = {FoldRule::kFirst, FoldRule::kSecond, FoldRule::kBoth};

struct Change {
  UtcSeconds at;
  seconds before;
  seconds after;
};

std::vector<Change> changes_of(const Zone& zone) {
  std::vector<Change> changes;
  for (ZoneSpan span = zone.span_at(kFrom); span.end < kUntil;) {
    const ZoneSpan next = zone.span_at(span.end);
    changes.push_back({next.begin, span.offset, next.offset});
    span = next;
  }
  return changes;
}

LocalSeconds local(UtcSeconds at, seconds offset) { return LocalSeconds(at.time_since_epoch()) + offset; }

// The rules as the documentation states them, for one instant near one change.
bool fires_at(const CalendarRule& rule, const Change& change, UtcSeconds at,
              const std::function<bool(LocalSeconds)>& named) {
  const LocalSeconds now = local(at, at < change.at ? change.before : change.after);
  if (rule.cron.follows_real_time) return named(now);
  const seconds forward = change.after - change.before;
  if (at == change.at && forward > seconds(0) && rule.gap == GapRule::kNext) {
    for (LocalSeconds skipped = local(at, change.before); skipped < now; skipped += seconds(1)) {
      if (named(skipped)) return true;
    }
  }
  if (!named(now)) return false;
  const bool shown_before = at >= change.at && now < local(change.at, change.before);
  const bool shown_again = at < change.at && now >= local(change.at, change.after);
  return rule.fold == FoldRule::kBoth || !(rule.fold == FoldRule::kFirst ? shown_before : shown_again);
}

void compare(const Zone& zone, const Change& change, const CalendarRule& rule, seconds step, seconds reach,
             const std::string& what) {
  const auto named = [&rule](LocalSeconds time) { return matches(rule.cron, time); };
  std::vector<UtcSeconds> expected;
  for (UtcSeconds at = change.at - reach; at <= change.at + reach; at += step) {
    if (fires_at(rule, change, at, named)) expected.push_back(at);
  }
  std::vector<UtcSeconds> found;
  for (auto fire = next_fire(rule, zone, change.at - reach - seconds(1)); fire && *fire <= change.at + reach;
       fire = next_fire(rule, zone, *fire)) {
    found.push_back(std::chrono::floor<seconds>(*fire));
  }
  ASSERT_EQ(found, expected) << zone.name() << ", change at " << change.at.time_since_epoch().count() << ", " << what;

  std::vector<UtcSeconds> backwards;
  for (auto fire = previous_fire(rule, zone, change.at + reach + seconds(1)); fire && *fire >= change.at - reach;
       fire = previous_fire(rule, zone, *fire)) {
    backwards.insert(backwards.begin(), std::chrono::floor<seconds>(*fire));
  }
  ASSERT_EQ(backwards, expected) << zone.name() << " backwards, " << what;
}

void compare_all_rules(const Zone& zone, const Change& change, const char* cron, seconds step, seconds reach) {
  for (const GapRule gap : kGaps) {
    for (const FoldRule fold : kFolds) {
      compare(zone, change, {parse_cron(cron).value(), gap, fold}, step, reach,
              std::string(cron) + ", gap " + std::to_string(static_cast<int>(gap)) + ", fold " +
                  std::to_string(static_cast<int>(fold)));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// What decides the result of a comparison: changes that are alike in it need only one.
using Kind = std::tuple<seconds, seconds, seconds, int, bool>;

Kind kind_of(const Change& change) {
  const LocalSeconds shown = local(change.at, change.before);
  const auto day = std::chrono::floor<std::chrono::days>(shown);
  const std::chrono::year_month_day date(day);
  const auto last = static_cast<unsigned>((date.year() / date.month() / std::chrono::last).day());
  return {change.before, change.after, shown - day, static_cast<int>(std::chrono::weekday(day).c_encoding()),
          static_cast<unsigned>(date.day()) + 1 >= last};
}

TEST(EveryZone, FiresAroundEachChangeAreThoseOfASearchThroughAllMinutes) {
  std::set<Kind> seen;
  std::size_t changes = 0;
  for (const std::string& name : system_zones().names()) {
    const auto zone = system_zones().find(name).value();
    for (const Change& change : changes_of(*zone)) {
      ++changes;
      if (!seen.insert(kind_of(change)).second) continue;
      for (const char* cron : kByMinute) {
        compare_all_rules(*zone, change, cron, minutes(1), hours(4));
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(changes, 2000U);
  RecordProperty("changes", static_cast<int>(changes));
  RecordProperty("kinds", static_cast<int>(seen.size()));
}

TEST(EveryZone, FiresAroundEachKindOfChangeAreThoseOfASearchThroughAllSeconds) {
  std::set<std::tuple<seconds, seconds, seconds>> seen;
  for (const std::string& name : system_zones().names()) {
    const auto zone = system_zones().find(name).value();
    for (const Change& change : changes_of(*zone)) {
      const auto [before, after, time, weekday, month_end] = kind_of(change);
      if (!seen.insert({before, after, time}).second) continue;
      for (const char* cron : kBySecond) {
        compare_all_rules(*zone, change, cron, seconds(1), minutes(100));
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(seen.size(), 10U);
}

// All changes, also those that are alike: the fire before and after each are where the other direction finds them.
TEST(EveryZone, BothDirectionsAgreeAroundEachChange) {
  std::vector<CalendarRule> rules;
  for (const char* cron : kByMinute) rules.push_back({parse_cron(cron).value()});
  for (const std::string& name : system_zones().names()) {
    const auto zone = system_zones().find(name).value();
    for (const Change& change : changes_of(*zone)) {
      for (const CalendarRule& rule : rules) {
        const auto before = previous_fire(rule, *zone, change.at);
        ASSERT_TRUE(before) << name;
        const auto at_or_after = next_fire(rule, *zone, *before);
        ASSERT_TRUE(at_or_after && *at_or_after >= change.at) << name;
        ASSERT_EQ(previous_fire(rule, *zone, *at_or_after), before) << name;
      }
    }
  }
}

}  // namespace
}  // namespace horae
