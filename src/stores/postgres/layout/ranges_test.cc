#include "stores/postgres/layout/ranges.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace horae::postgres {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Ranges, OfNoNumbersAreNone) { EXPECT_THAT(ranges_of({}), IsEmpty()); }

TEST(Ranges, JoinNeighboursAndDropRepetitions) {
  EXPECT_THAT(ranges_of({5, 3, 4, 9, 3, 11, 10}), ElementsAre(Range{3, 5}, Range{9, 11}));
}

RC_GTEST_PROP(Ranges, HoldExactlyTheNumbersGiven, ()) {
  const auto numbers = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 60));
  std::set<std::int64_t> held;
  std::int64_t last = -2;
  for (const Range& range : ranges_of(numbers)) {
    RC_ASSERT(range.lo > last + 1);  // in order, and apart
    for (std::int64_t number = range.lo; number <= range.hi; ++number) held.insert(number);
    last = range.hi;
  }
  RC_ASSERT(held == std::set<std::int64_t>(numbers.begin(), numbers.end()));
}

TEST(Ranges, ADayHasItsOwnNumbers) {
  const Range day = numbers_of_day(20'773);
  EXPECT_EQ(day.lo >> kDayShift, 20'773);
  EXPECT_EQ(day.hi >> kDayShift, 20'773);
  EXPECT_EQ((day.hi + 1) >> kDayShift, 20'774);
}

struct Item {
  std::int64_t number;
  char kind;
};

std::vector<Range> shared(const std::vector<Item>& items) {
  std::vector<Range> ranges;
  for_each_range(
      items, [](const Item& item) { return item.number; },
      [](const Item& a, const Item& b) { return a.kind == b.kind; },
      [&](const Item& first, const Item& last) {
        ranges.push_back({first.number, last.number});
      });
  return ranges;
}

TEST(SharedRanges, EndWhereTheNumbersDo) {
  EXPECT_THAT(shared({{1, 'a'}, {2, 'a'}, {4, 'a'}}), ElementsAre(Range{1, 2}, Range{4, 4}));
}

TEST(SharedRanges, EndWhereTheRestDiffers) {
  EXPECT_THAT(shared({{1, 'a'}, {2, 'a'}, {3, 'b'}}), ElementsAre(Range{1, 2}, Range{3, 3}));
}

TEST(SharedRanges, HaveAtMostSixtyFour) {
  std::vector<Item> items;
  for (std::int64_t number = 100; number < 230; ++number) items.push_back({number, 'a'});
  EXPECT_THAT(shared(items), ElementsAre(Range{100, 163}, Range{164, 227}, Range{228, 229}));
}

}  // namespace
}  // namespace horae::postgres
