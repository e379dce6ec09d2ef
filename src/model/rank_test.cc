#include "model/rank.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace horae {
namespace {

TEST(Rank, HigherPriorityComesFirstAmongTasksOfOneSecond) {
  const Ageing ageing;
  EXPECT_LT(rank_of(ageing, 1000, 200), rank_of(ageing, 1000, 50));
}

TEST(Rank, EachSecondOfWaitingIsWorthOnePointByDefault) {
  const Ageing ageing;
  EXPECT_LT(rank_of(ageing, 1000, 50), rank_of(ageing, 1011, 60));
  EXPECT_EQ(rank_of(ageing, 1000, 50), rank_of(ageing, 1010, 60));
  EXPECT_GT(rank_of(ageing, 1000, 50), rank_of(ageing, 1009, 60));
}

TEST(Rank, EqualRanksAreServedByReadySecondThenByNumber) {
  EXPECT_LT((ReadyOrder{5, 1, 9}), (ReadyOrder{6, 0, 0}));
  EXPECT_LT((ReadyOrder{5, 1, 9}), (ReadyOrder{5, 2, 0}));
  EXPECT_LT((ReadyOrder{5, 1, 1}), (ReadyOrder{5, 1, 2}));
}

TEST(Rank, RateZeroIsStrictPriority) {
  const Ageing strict{.rate = 0};
  EXPECT_GT(rank_of(strict, 0, 50), rank_of(strict, 1'000'000, 51));
}

TEST(Rank, EffectivePriorityIsThePriorityPlusThePointsGained) {
  const Ageing ageing{.base = 7, .rate = 3, .since = 100};
  EXPECT_EQ(effective_priority(ageing, rank_of(ageing, 200, 50), 200), 50);
  EXPECT_EQ(effective_priority(ageing, rank_of(ageing, 200, 50), 210), 80);
}

TEST(Rank, AChangedRateCountsOnlyFromTheChangeOn) {
  const Ageing before{.rate = 1};
  const auto rank = rank_of(before, 100, 50);
  const Ageing after = with_rate(before, 10, 120);
  EXPECT_EQ(effective_priority(before, rank, 120), 70);
  EXPECT_EQ(effective_priority(after, rank, 120), 70);
  EXPECT_EQ(effective_priority(after, rank, 125), 120);
}

TEST(Rank, BoundIsTheTimeToOutgrowTheMostUrgent) {
  EXPECT_EQ(ageing_bound_seconds(1, 0), 255);
  EXPECT_EQ(ageing_bound_seconds(1, 255), 0);
  EXPECT_EQ(ageing_bound_seconds(10, 50), 21);  // 20.5, rounded up
}

TEST(RankDeathTest, StrictPrioritiesHaveNoBound) { EXPECT_DEATH((void)ageing_bound_seconds(0, 50), "no bound"); }

TEST(Rank, ARateFromOutsideIsChecked) {
  EXPECT_TRUE(check_ageing_rate(0).ok());
  EXPECT_TRUE(check_ageing_rate(kMaxAgeingRate).ok());
  EXPECT_EQ(check_ageing_rate(-1).error().message,
            "ageing rate -1: give 0 (strict priorities) to 1000000 points a second");
  EXPECT_FALSE(check_ageing_rate(kMaxAgeingRate + 1).ok());
}

TEST(Rank, ShieldLevelsCountTheOtherWayRound) {
  EXPECT_EQ(level_of(255), 0);
  EXPECT_EQ(level_of(50), 205);
  EXPECT_EQ(level_of(0), 255);
}

TEST(Rank, TheWholeRangeOfTimesAndRatesStaysWithin64Bits) {
  constexpr std::int64_t kYear9999 = 253'402'300'799;
  constexpr std::int64_t kYear0 = -62'167'219'200;
  Ageing ageing{.rate = kMaxAgeingRate, .since = kYear0};
  ageing = with_rate(ageing, kMaxAgeingRate, kYear9999);  // UBSan watches
  EXPECT_EQ(effective_priority(ageing, rank_of(ageing, kYear9999, 50), kYear9999), 50);
}

// A queue that lives through some changes of its rate.
struct Change {
  std::int64_t second;
  std::int64_t rate;
};

class AgeingLife {
 public:
  explicit AgeingLife(std::vector<Change> changes) : changes_(std::move(changes)) {
    std::ranges::sort(changes_, {}, &Change::second);
  }

  // The ageing that holds in `second`.
  Ageing at(std::int64_t second) const {
    Ageing ageing;
    for (const Change& change : changes_) {
      if (change.second <= second) ageing = with_rate(ageing, change.rate, change.second);
    }
    return ageing;
  }

  // The lowest rate that held at any time between the two seconds.
  std::int64_t lowest_rate(std::int64_t from, std::int64_t to) const {
    std::int64_t lowest = at(from).rate;
    for (const Change& change : changes_) {
      if (change.second > from && change.second <= to) lowest = std::min(lowest, change.rate);
    }
    return lowest;
  }

 private:
  std::vector<Change> changes_;
};

rc::Gen<AgeingLife> any_life(std::int64_t lowest_rate) {
  const auto change = rc::gen::construct<Change>(rc::gen::inRange<std::int64_t>(1, 2000),
                                                 rc::gen::inRange<std::int64_t>(lowest_rate, 20));
  return rc::gen::construct<AgeingLife>(rc::gen::container<std::vector<Change>>(change));
}

ReadyOrder order(const AgeingLife& life, std::int64_t second, int priority, std::int64_t number) {
  return {rank_of(life.at(second), second, priority), second, number};
}

// The ageing bound: once a task has been ready for (255 - priority) / rate seconds, nothing that becomes ready later in
// its queue is claimed before it. With a changing rate, the lowest one that held in between counts.
RC_GTEST_PROP(Rank, NothingThatComesAfterTheBoundOvertakes, ()) {
  const auto life = *any_life(1);
  const auto ready = *rc::gen::inRange<std::int64_t>(0, 1500);
  const auto priority = *rc::gen::inRange(0, 256);
  const auto other_priority = *rc::gen::inRange(0, 256);

  auto later = ready;
  while (later - ready < ageing_bound_seconds(life.lowest_rate(ready, later), priority)) ++later;
  RC_ASSERT(order(life, ready, priority, 1) < order(life, later, other_priority, 2));

  later = ready + kMaxPriority + *rc::gen::inRange<std::int64_t>(0, 1000);  // the bound of the lowest rate there is
  RC_ASSERT(order(life, ready, priority, 1) < order(life, later, other_priority, 2));
}

TEST(Rank, BeforeTheBoundTheMostUrgentStillOvertakes) {
  const AgeingLife life({{.second = 10, .rate = 5}});
  const auto bound = ageing_bound_seconds(5, 50);
  EXPECT_GT(order(life, 100, 50, 1), order(life, 100 + bound - 1, kMaxPriority, 2));
  EXPECT_LT(order(life, 100, 50, 1), order(life, 100 + bound, kMaxPriority, 2));
}

// The static rank gives the order that adding up points second by second would give.
RC_GTEST_PROP(Rank, OrderIsThatOfPriorityPlusPointsGained, ()) {
  const auto life = *any_life(0);
  const auto a_second = *rc::gen::inRange<std::int64_t>(0, 1500);
  const auto b_second = a_second + *rc::gen::inRange<std::int64_t>(0, 300);
  const auto a_priority = *rc::gen::inRange(0, 256);
  const auto b_priority = *rc::gen::inRange(0, 256);
  std::int64_t gained = 0;  // by the first while the second was not ready yet
  for (auto second = a_second; second < b_second; ++second) gained += life.at(second).rate;

  const auto a = rank_of(life.at(a_second), a_second, a_priority);
  const auto b = rank_of(life.at(b_second), b_second, b_priority);
  RC_ASSERT((a < b) == (a_priority + gained > b_priority));
  RC_ASSERT((a == b) == (a_priority + gained == b_priority));
}

}  // namespace
}  // namespace horae
