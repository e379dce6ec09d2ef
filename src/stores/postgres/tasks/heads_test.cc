#include "stores/postgres/tasks/heads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae::postgres {
namespace {

using ::testing::ElementsAre;

Head head_of(std::vector<ReadyRange> ranges, std::int64_t wanted = 10) {
  Head head{.ageing = {.base = 0, .rate = 1, .since = 0}, .ranges = std::move(ranges), .wanted = wanted};
  head.begin();
  return head;
}

ReadyRange range(std::int64_t lo, std::int64_t hi, std::int64_t rank) {
  return {.life = {.range = {lo, hi}}, .rank = rank, .at = 0};
}

std::vector<std::int64_t> numbers_of(const std::vector<GivenTask>& given) {
  std::vector<std::int64_t> numbers;
  for (const GivenTask& each : given) numbers.push_back(each.number);
  return numbers;
}

TEST(Heads, GiveTheMostUrgentTasksOfAllQueues) {
  Heads heads;
  heads[1] = head_of({range(10, 11, 5), range(20, 20, 9)});
  heads[2] = head_of({range(30, 30, 4), range(40, 41, 7)});
  EXPECT_THAT(numbers_of(give(heads, {1, 2}, 5, 100)), ElementsAre(30, 10, 11, 40, 41));
  EXPECT_THAT(numbers_of(give(heads, {1, 2}, 5, 100)), ElementsAre(20));
}

TEST(Heads, GiveNothingOfOtherQueues) {
  Heads heads;
  heads[1] = head_of({range(10, 10, 5)});
  heads[2] = head_of({range(30, 30, 4)});
  EXPECT_THAT(numbers_of(give(heads, {1}, 5, 100)), ElementsAre(10));
}

TEST(Heads, GiveTheLowerNumberAmongEquals) {
  Heads heads;
  heads[1] = head_of({range(11, 11, 5)});
  heads[2] = head_of({range(10, 10, 5)});
  EXPECT_THAT(numbers_of(give(heads, {1, 2}, 2, 100)), ElementsAre(10, 11));
}

TEST(Heads, LeaveTheRestOfARangeThatGaveSomeTasks) {
  Heads heads;
  heads[1] = head_of({range(10, 10, 5), range(20, 29, 6), range(30, 30, 7)});
  (void)give(heads, {1}, 4, 100);
  const Left left = what_is_left(heads);
  EXPECT_THAT(left.gone, ElementsAre(10, 20));
  ASSERT_EQ(left.rest.size(), 1U);
  EXPECT_EQ(left.rest[0].life.range, (Range{23, 29}));
  EXPECT_EQ(left.rest[0].rank, 6);
}

TEST(Heads, AreShortOnlyIfMoreWasWantedAndMayBeThere) {
  Heads heads;
  heads[1] = head_of({range(10, 10, 5)});
  EXPECT_FALSE(heads[1].is_short()) << "it has tasks left";
  (void)give(heads, {1}, 4, 100);
  EXPECT_TRUE(heads[1].is_short());
  heads[1].is_all = true;
  EXPECT_FALSE(heads[1].is_short());
  heads[1].is_all = false;
  heads[1].wanted = 1;
  EXPECT_FALSE(heads[1].is_short());
}

}  // namespace
}  // namespace horae::postgres
