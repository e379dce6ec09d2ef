#include "engine/slots/run_times.h"

#include <gtest/gtest.h>

namespace horae {
namespace {

using namespace std::literals;

RunTimes after_runs(int count, Duration took) {
  RunTimes runs;
  for (int i = 0; i < count; ++i) runs.add(took);
  return runs;
}

TEST(RunTimes, LetNothingStartSoonBeforeTheFirstRunHasEnded) {
  EXPECT_EQ(RunTimes().starts_within(200ms, 8), 0U);
  EXPECT_EQ(RunTimes().starts_within(1h, 8), 8U * 3600U);  // by settings for a long queue in memory
}

TEST(RunTimes, LetNothingStartSoonBehindLongRuns) {
  EXPECT_EQ(after_runs(1, 4s).starts_within(200ms, 8), 0U);
  EXPECT_EQ(after_runs(100, 201ms).starts_within(200ms, 8), 0U);
}

TEST(RunTimes, LetAsManyStartAsTheSlotsTakeTurns) {
  EXPECT_EQ(after_runs(100, 199ms).starts_within(200ms, 8), 8U);
  EXPECT_EQ(after_runs(100, 49ms).starts_within(200ms, 8), 32U);
  EXPECT_EQ(after_runs(100, 50ms).starts_within(200ms, 0), 0U);
}

TEST(RunTimes, LetAnyNumberStartBehindRunsThatTakeNoTime) {
  EXPECT_GE(after_runs(200, 0s).starts_within(200ms, 8), 100'000U);
}

TEST(RunTimes, GrowAtOnceAndFadeSlowly) {
  RunTimes runs = after_runs(100, 10ms);
  runs.add(4s);
  EXPECT_EQ(runs.expected(), 4s);
  runs.add(10ms);
  EXPECT_GT(runs.expected(), 3s);
  for (int i = 0; i < 50; ++i) runs.add(10ms);
  EXPECT_LT(runs.expected(), 50ms);
}

}  // namespace
}  // namespace horae
