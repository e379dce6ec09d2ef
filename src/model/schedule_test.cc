#include "model/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/time_text.h"
#include "model/schedule_text.h"

namespace horae {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ns;

Instant time(std::string_view text) { return parse_instant(text).value(); }

// Noon of a day in June, and some time later.
Instant noon(Duration later = 0s) {
  return time("2025-06-02T12:00:00Z") + std::chrono::duration_cast<std::chrono::microseconds>(later);
}

ScheduleRules every(Duration interval) { return {.every = interval}; }
ScheduleRules cron(std::string expression) { return {.cron = std::move(expression)}; }

Timetable table_of(const ScheduleRules& rules) { return Timetable::make(rules, system_zones()).value(); }

FirePlan plan(const ScheduleRules& rules, Instant next_at, Instant now) {
  return plan_fires("nightly", rules, table_of(rules), next_at, now);
}

std::string refusal_of(const ScheduleRules& rules) {
  const auto table = Timetable::make(rules, system_zones());
  return table.ok() ? "accepted" : table.error().message;
}

std::vector<Instant> times_of(const FirePlan& plan) {
  std::vector<Instant> times;
  for (const Fire& fire : plan.fires) times.push_back(fire.at);
  return times;
}

// ---- Timetables ----

TEST(Timetable, AFixedRateCountsFromItsAnchorInBothDirections) {
  ScheduleRules rules = every(90s);
  EXPECT_EQ(table_of(rules).next(noon()), noon(90s));
  rules.anchor = noon(10s);
  EXPECT_EQ(table_of(rules).next(noon()), noon(10s));
  EXPECT_EQ(table_of(rules).next(noon(10s)), noon(100s));
  EXPECT_EQ(table_of(rules).next(noon(-81s)), noon(-80s));
  EXPECT_EQ(table_of(rules).previous(noon(10s)), noon(-80s));
  EXPECT_EQ(table_of(rules).previous(noon(11s)), noon(10s));
}

TEST(Timetable, FiresOnlyBetweenItsStartAndItsEnd) {
  ScheduleRules rules = every(60s);
  rules.starts = noon();
  rules.ends = noon(120s);
  const Timetable table = table_of(rules);
  EXPECT_THAT(table.preview(noon(-1h), 10), ElementsAre(noon(), noon(60s)));
  EXPECT_EQ(table.previous(noon(1h)), noon(60s));
  EXPECT_EQ(table.previous(noon()), std::nullopt);
}

TEST(Timetable, SaysInWordsWhenItFires) {
  ScheduleRules rules = cron("30 2 * * MON");
  rules.zone = "Europe/Berlin";
  EXPECT_EQ(table_of(rules).in_words(), "at 02:30 on Monday, Europe/Berlin");
  rules = every(90s);
  rules.starts = noon();
  EXPECT_EQ(table_of(rules).in_words(), "every 1m30s from 1970-01-01T00:00:00Z, not before 2025-06-02T12:00:00Z");
}

TEST(Timetable, CountsUpToALimit) {
  EXPECT_EQ(table_of(every(1s)).count(noon(), noon(9s), 100), 10);
  EXPECT_EQ(table_of(every(1s)).count(noon(), noon(24h), 100), 100);
}

// ---- What is refused ----

TEST(ScheduleRules, ARefusalNamesTheField) {
  const auto with = [](auto change) {
    ScheduleRules rules = every(60s);
    change(rules);
    return refusal_of(rules);
  };
  EXPECT_EQ(refusal_of({}), "cron, every: give one of them");
  EXPECT_THAT(with([](auto& rules) { rules.cron = "@daily"; }), HasSubstr("cron, every: give only one"));
  EXPECT_THAT(refusal_of(every(999ms)), HasSubstr("every 999ms: give 1s to"));
  EXPECT_THAT(refusal_of(every(1s + 1ns)), HasSubstr("give whole milliseconds"));
  EXPECT_THAT(with([](auto& rules) { rules.jitter = 61s; }), HasSubstr("jitter 1m1s: give 0s to 1m"));
  EXPECT_THAT(with([](auto& rules) { rules.jitter = -1s; }), HasSubstr("jitter -1s"));
  EXPECT_THAT(with([](auto& rules) { rules.catch_up = 1001; }), HasSubstr("catch_up 1001: give 1 to 1000"));
  EXPECT_THAT(with([](auto& rules) { rules.catch_up = 0; }), HasSubstr("catch_up 0"));
  EXPECT_THAT(with([](auto& rules) { rules.window = 0s; }), HasSubstr("window 0s"));
  EXPECT_THAT(with([](auto& rules) { rules.starts = noon(), rules.ends = noon(); }), HasSubstr("ends "));
  EXPECT_THAT(with([](auto& rules) { rules.zone = "Europe/Belin"; }), HasSubstr("is Europe/Berlin meant?"));
  EXPECT_THAT(refusal_of({.cron = "@daily", .anchor = noon()}), HasSubstr("anchor: it belongs to `every`"));
  EXPECT_THAT(refusal_of(cron("0 0 30 2 *")), HasSubstr("day of month (character 5)"));
}

TEST(ScheduleRules, TheJitterOfACronExpressionIsLimitedByItsShortestInterval) {
  ScheduleRules rules = cron("0,5 * * * *");
  rules.jitter = 5min;
  EXPECT_EQ(refusal_of(rules), "accepted");
  rules.jitter = 5min + 1us;
  EXPECT_THAT(refusal_of(rules), HasSubstr("jitter"));
}

TEST(NewSchedule, ItsTaskHasNoIdentityAndNoTimesOfItsOwn) {
  const auto with = [](auto change) {
    NewSchedule schedule{.name = "nightly", .task = {.queue = "reports", .spec = "{}"}, .rules = cron("@daily")};
    change(schedule);
    const auto checked = check_new_schedule(schedule, system_zones());
    return checked.ok() ? "accepted" : checked.error().message;
  };
  EXPECT_EQ(with([](auto&) {}), "accepted");
  EXPECT_THAT(with([](auto& each) { each.name = "a b"; }), HasSubstr("name \"a b\""));
  EXPECT_THAT(with([](auto& each) { each.name = std::string(129, 'a'); }), HasSubstr("name "));
  EXPECT_THAT(with([](auto& each) { each.task.id = TaskId(); }), HasSubstr("id: "));
  EXPECT_THAT(with([](auto& each) { each.task.key = "k"; }), HasSubstr("key: "));
  EXPECT_THAT(with([](auto& each) { each.task.run_at = noon(); }), HasSubstr("run_at: "));
  EXPECT_THAT(with([](auto& each) { each.task.recurring = 1s; }), HasSubstr("recurring: "));
  EXPECT_THAT(with([](auto& each) { each.task.queue = "a b"; }), HasSubstr("queue \"a b\""));
  EXPECT_THAT(with([](auto& each) { each.task.priority = 256; }), HasSubstr("priority 256"));
}

// ---- Plans ----

TEST(FirePlan, BeforeTheNextFireNothingIsDue) {
  EXPECT_EQ(plan(every(60s), noon(60s), noon(59s)), (FirePlan{.next_at = noon(60s)}));
}

TEST(FirePlan, AFireIsDueAtItsTime) {
  EXPECT_EQ(plan(every(60s), noon(60s), noon(60s)),
            (FirePlan{.fires = {{noon(60s), noon(60s)}}, .next_at = noon(120s)}));
}

TEST(FirePlan, FiresThatAreALittleLateAllRunWhateverTheRule) {
  for (const MissedRule missed : {MissedRule::kLast, MissedRule::kAll, MissedRule::kSkip}) {
    ScheduleRules rules = every(5s);
    rules.missed = missed;
    const FirePlan late = plan(rules, noon(5s), noon(15s));
    EXPECT_THAT(times_of(late), ElementsAre(noon(5s), noon(10s), noon(15s)));
    EXPECT_EQ(late.skipped, std::nullopt);
  }
}

TEST(FirePlan, OfMissedFiresTheLastOneRunsByDefault) {
  const FirePlan late = plan(every(60s), noon(60s), noon(200s));
  EXPECT_THAT(times_of(late), ElementsAre(noon(180s)));
  EXPECT_EQ(late.skipped, (SkippedFires{noon(60s), noon(120s), 2, SkipReason::kMissed}));
  EXPECT_EQ(late.next_at, noon(240s));
}

TEST(FirePlan, TheLastMissedFireIsNotRepeatedBesideOneThatIsOnTime) {
  const FirePlan late = plan(every(60s), noon(60s), noon(185s));
  EXPECT_THAT(times_of(late), ElementsAre(noon(180s)));
  EXPECT_EQ(late.skipped, (SkippedFires{noon(60s), noon(120s), 2, SkipReason::kMissed}));
}

TEST(FirePlan, MissedFiresCanBeSkipped) {
  ScheduleRules rules = every(60s);
  rules.missed = MissedRule::kSkip;
  const FirePlan late = plan(rules, noon(60s), noon(200s));
  EXPECT_THAT(late.fires, IsEmpty());
  EXPECT_EQ(late.skipped, (SkippedFires{noon(60s), noon(180s), 3, SkipReason::kMissed}));
}

TEST(FirePlan, AllMissedFiresRunOldestFirst) {
  ScheduleRules rules = every(60s);
  rules.missed = MissedRule::kAll;
  EXPECT_THAT(times_of(plan(rules, noon(60s), noon(200s))), ElementsAre(noon(60s), noon(120s), noon(180s)));
}

TEST(FirePlan, OfAllMissedFiresNoMoreThanCatchUpRunAndNoneOlderThanTheWindow) {
  ScheduleRules rules = every(60s);
  rules.missed = MissedRule::kAll;
  rules.catch_up = 2;
  const FirePlan many = plan(rules, noon(60s), noon(290s));
  EXPECT_THAT(times_of(many), ElementsAre(noon(180s), noon(240s)));
  EXPECT_EQ(many.skipped, (SkippedFires{noon(60s), noon(120s), 2, SkipReason::kCatchUp}));
  rules.catch_up = 100;
  rules.window = 60s;
  const FirePlan old = plan(rules, noon(60s), noon(290s));
  EXPECT_THAT(times_of(old), ElementsAre(noon(240s)));
  EXPECT_EQ(old.skipped, (SkippedFires{noon(60s), noon(180s), 3, SkipReason::kWindow}));
}

TEST(FirePlan, AFireOnTimeDoesNotCountAgainstCatchUp) {
  ScheduleRules rules = every(60s);
  rules.missed = MissedRule::kAll;
  rules.catch_up = 1;
  EXPECT_THAT(times_of(plan(rules, noon(60s), noon(240s))), ElementsAre(noon(180s), noon(240s)));
}

TEST(FirePlan, AYearOfSecondsIsSkippedAtOnce) {
  const FirePlan late = plan(cron("* * * * * *"), noon(), noon(24h * 365));
  EXPECT_EQ(late.fires.size(), 11U);
  ASSERT_TRUE(late.skipped);
  EXPECT_EQ(late.skipped->count, kMaxCounted);
}

TEST(FirePlan, AfterItsEndAScheduleHasNoNextFire) {
  ScheduleRules rules = every(60s);
  rules.ends = noon(120s);
  EXPECT_EQ(plan(rules, noon(60s), noon(60s)).next_at, std::nullopt);
  EXPECT_THAT(times_of(plan(rules, noon(60s), noon(125s))), ElementsAre(noon(60s)));
}

// ---- Overlaps ----

TEST(Overlap, OneTaskAtATimeByDefault) {
  EXPECT_EQ(judge_overlap(OverlapRule::kSkip, 3, false).count, 1U);
  EXPECT_EQ(judge_overlap(OverlapRule::kSkip, 3, true).count, 0U);
}

TEST(Overlap, AllowedOnesAllRun) { EXPECT_EQ(judge_overlap(OverlapRule::kAllow, 3, true).count, 3U); }

TEST(Overlap, TheNewestTakesThePlaceOfThePreviousOne) {
  const Overlapping judged = judge_overlap(OverlapRule::kCancelPrevious, 3, true);
  EXPECT_EQ(judged.first, 2U);
  EXPECT_EQ(judged.count, 1U);
  EXPECT_TRUE(judged.cancels_previous);
  EXPECT_FALSE(judge_overlap(OverlapRule::kCancelPrevious, 1, false).cancels_previous);
  EXPECT_FALSE(judge_overlap(OverlapRule::kCancelPrevious, 0, true).cancels_previous);
}

// ---- Text ----

TEST(ScheduleText, ReadsBackAsItWasWritten) {
  NewSchedule plain{.name = "a", .task = {.queue = "q", .spec = "{}"}, .rules = every(90s)};
  EXPECT_EQ(schedule_of("a", false, to_text(plain)).value(), plain);
  const NewSchedule full{
      .name = "a",
      .task = {.queue = "q",
               .priority = 7,
               .spec = "{\"a\": \"line\\n\",\n \"b\": 1.0}\nspec x",
               .max_attempts = 3,
               .retry = {.kind = RetryPolicy::Kind::kFixed, .delay = 1ms, .factor = 1.1, .cap = 1h, .jitter = 0.1}},
      .rules = {.cron = "0 0 * * *",
                .zone = "Europe/Berlin",
                .every = 1500ms,
                .anchor = noon(1us),
                .gap = GapRule::kSkip,
                .fold = FoldRule::kBoth,
                .jitter = 5s,
                .missed = MissedRule::kAll,
                .catch_up = 7,
                .window = 2h,
                .overlap = OverlapRule::kCancelPrevious,
                .starts = noon(),
                .ends = noon(1h)},
      .paused = true,
      .maker = "t-1",
      .maker_queues = 7};
  EXPECT_EQ(schedule_of("a", true, to_text(full)).value(), full);
}

TEST(ScheduleText, WhatItDoesNotWriteIsRefused) {
  const std::string good = to_text({.name = "a", .task = {.queue = "q", .spec = "{}"}, .rules = every(90s)});
  for (const std::string& text : {std::string(), std::string("zone"), "later x\n" + good, "every 5\n" + good,
                                  "gap never\n" + good, "fold \n" + good, good.substr(0, good.find("spec"))}) {
    EXPECT_EQ(schedule_of("a", false, text).error().code, ErrorCode::kInternal) << text;
  }
}

// ---- Jitter ----

TEST(Jitter, IsTheSameForTheSameFireAndSpreadOverTheInterval) {
  EXPECT_EQ(run_time("nightly", noon(), 60s), run_time("nightly", noon(), 60s));
  EXPECT_NE(run_time("nightly", noon(), 60s), run_time("weekly", noon(), 60s));
  EXPECT_EQ(run_time("nightly", noon(), 0s), noon());
  int early = 0;
  for (int i = 0; i < 1000; ++i) {
    const Instant at = noon(60s * i);
    const Duration delay = run_time("nightly", at, 60s) - at;
    ASSERT_TRUE(delay >= 0s && delay < 60s);
    if (delay < 30s) ++early;
  }
  EXPECT_THAT(early, AllOf(testing::Gt(400), testing::Lt(600)));
}

// A stored fire must have the same time after an upgrade.
TEST(Jitter, DoesNotChangeBetweenReleases) {
  EXPECT_EQ(run_time("nightly", noon(), 60s) - noon(), std::chrono::microseconds(7'998'774));
}

// ---- Laws ----

ScheduleRules any_rules() {
  ScheduleRules rules;
  if (*rc::gen::arbitrary<bool>()) {
    rules.every = std::chrono::milliseconds(*rc::gen::inRange(1'000, 4'000'000));
    if (*rc::gen::arbitrary<bool>())
      rules.anchor = noon(std::chrono::milliseconds(*rc::gen::inRange(-10'000'000, 10'000'000)));
  } else {
    rules.cron =
        *rc::gen::element<std::string>("* * * * *", "*/7 * * * *", "30 2 * * *", "*/20 */3 * * * *", "0 0 1,L * *");
    rules.zone = *rc::gen::element<std::string>("UTC", "Europe/Berlin", "Australia/Lord_Howe");
  }
  rules.missed = *rc::gen::element(MissedRule::kLast, MissedRule::kAll, MissedRule::kSkip);
  rules.catch_up = *rc::gen::inRange(1, 20);
  if (*rc::gen::arbitrary<bool>()) rules.ends = noon(std::chrono::minutes(*rc::gen::inRange(1, 5'000)));
  return rules;
}

// However the time is cut into looks, each fire is either planned or within what is skipped, once, and looks agree on
// what comes next.
RC_GTEST_PROP(FirePlan, NoFireIsLostOrRepeatedBetweenLooks, ()) {
  const ScheduleRules rules = any_rules();
  const Timetable table = table_of(rules);
  auto next_at = table.next(noon());
  std::vector<Instant> handled;
  Instant now = noon();
  for (int look = 0; look < 12 && next_at; ++look) {
    now += std::chrono::milliseconds(*rc::gen::oneOf(rc::gen::inRange(0, 20'000), rc::gen::inRange(0, 9'000'000)));
    const FirePlan planned = plan_fires("any", rules, table, *next_at, now);
    if (planned.skipped) {
      for (auto fire = std::optional(planned.skipped->first); fire && *fire <= planned.skipped->last;
           fire = table.next(*fire)) {
        handled.push_back(*fire);
      }
    }
    for (const Fire& fire : planned.fires) handled.push_back(fire.at);
    RC_ASSERT((!planned.next_at || *planned.next_at > now || planned.next_at == next_at));
    next_at = planned.next_at;
  }
  auto expected = table.next(noon());
  for (const Instant fire : handled) {
    RC_ASSERT(expected == fire);
    expected = table.next(fire);
  }
  RC_ASSERT((!expected || *expected > now));
  RC_ASSERT(next_at == expected);
}

RC_GTEST_PROP(FirePlan, LooksThatAreOnTimeFireWhatThePreviewShowed, ()) {
  const ScheduleRules rules = any_rules();
  const Timetable table = table_of(rules);
  const std::vector<Instant> preview = table.preview(noon(), 20);
  std::vector<Instant> fired;
  for (const Instant& at : preview) {
    const FirePlan planned = plan_fires("any", rules, table, at, at + 5ms);
    RC_ASSERT(!planned.skipped);
    for (const Fire& fire : planned.fires) fired.push_back(fire.at);
  }
  RC_ASSERT(fired == preview);
}

RC_GTEST_PROP(Timetable, NextOfPreviousIsTheSame, ()) {
  const Timetable table = table_of(any_rules());
  for (const Instant fire : table.preview(noon(), 10)) {
    const auto before = table.previous(fire);
    RC_ASSERT((!before || table.next(*before) == fire));
  }
}

}  // namespace
}  // namespace horae
