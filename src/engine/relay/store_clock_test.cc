#include "engine/relay/store_clock.h"

#include <gtest/gtest.h>

namespace horae {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr MonotonicTime kOwn{std::chrono::hours(1)};
constexpr Instant kStore{std::chrono::seconds(1'000'000)};

TEST(StoreClock, KnowsNothingBeforeTheFirstAnswer) {
  EXPECT_EQ(StoreClock().surely_after(kStore), std::nullopt);
  EXPECT_EQ(StoreClock().estimate(kOwn), std::nullopt);
}

TEST(StoreClock, IsNeverEarlyAndLateByTheTripAtMost) {
  StoreClock clock;
  clock.note(kOwn, kOwn + 20ms, kStore);
  EXPECT_EQ(clock.surely_after(kStore + 1s), kOwn + 1020ms);
  EXPECT_EQ(clock.surely_before(kStore + 1s), kOwn + 1s);
  EXPECT_EQ(clock.estimate(kOwn + 10ms), kStore);
}

TEST(StoreClock, TheShortestTripOfTheLastTenSecondsCounts) {
  StoreClock clock;
  clock.note(kOwn, kOwn + 2ms, kStore);
  clock.note(kOwn + 1s, kOwn + 1020ms, kStore + 1001ms);
  EXPECT_EQ(clock.surely_after(kStore + 2s), kOwn + 2002ms);
  clock.note(kOwn + 11s, kOwn + 11010ms, kStore + 11s);
  EXPECT_EQ(clock.surely_after(kStore + 20s), kOwn + 20010ms);
}

TEST(StoreClock, AnAnswerThatContradictsTheOthersReplacesThem) {
  StoreClock clock;
  clock.note(kOwn, kOwn + 2ms, kStore);
  clock.note(kOwn + 1s, kOwn + 1010ms, kStore + 30s);
  EXPECT_EQ(clock.surely_after(kStore + 31s), kOwn + 2010ms);
}

TEST(StoreClock, FarDeadlinesDoNotOverflow) {
  StoreClock clock;
  clock.note(kOwn, kOwn + 2ms, kStore);
  EXPECT_GT(*clock.surely_after(Instant(std::chrono::seconds(253'402'300'799))), kOwn + std::chrono::hours(24 * 300));
}

}  // namespace
}  // namespace horae
