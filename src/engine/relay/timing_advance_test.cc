#include "engine/relay/timing_advance.h"

#include <gtest/gtest.h>

namespace horae {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr MonotonicTime kReported{std::chrono::hours(1)};

TEST(TimingAdvance, FixedIsFixed) {
  TimingAdvance advance(50ms);
  advance.note(kReported, 3ms);
  EXPECT_EQ(advance.value(), 50ms);
  EXPECT_EQ(advance.publish_times().quantile(0.5), 3ms);
}

TEST(TimingAdvance, LearnsTheMedianOfTheLastTenSeconds) {
  TimingAdvance advance(std::nullopt);
  EXPECT_EQ(advance.value(), 0ms);
  for (const Duration taken : {1ms, 90ms, 2ms}) advance.note(kReported, taken);
  advance.note(kReported + 1s, 3ms);
  EXPECT_EQ(advance.value(), 2ms);
  advance.note(kReported + 12s, 40ms);
  EXPECT_EQ(advance.value(), 40ms);
}

TEST(TimingAdvance, LearnsNoMoreThanTheLimit) {
  TimingAdvance advance(std::nullopt);
  advance.note(kReported, 5s);
  EXPECT_EQ(advance.value(), kMostAdvance);
}

}  // namespace
}  // namespace horae
