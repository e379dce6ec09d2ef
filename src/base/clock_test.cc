#include "base/clock.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <thread>
#include <vector>

#include "base/time_text.h"

namespace horae {
namespace {

using namespace std::chrono_literals;

TEST(SystemClock, ReadsAnInstantThatCanBeFormatted) {
  const Instant now = SystemClock().wall_now();
  EXPECT_GT(now, Instant()) << "a clock before 1970 would give broken ids";
  EXPECT_LE(now, latest_instant());
}

TEST(SystemClock, MonotonicReadingNeverDecreases) {
  const SystemClock clock;
  MonotonicTime last = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const MonotonicTime next = clock.now();
    ASSERT_LE(last, next);
    last = next;
  }
}

TEST(ManualClock, DoesNotMoveByItself) {
  const ManualClock clock;
  const ManualClock other;
  EXPECT_EQ(clock.wall_now(), clock.wall_now());
  EXPECT_EQ(clock.now(), clock.now());
  EXPECT_EQ(clock.wall_now(), other.wall_now());
  EXPECT_EQ(clock.now(), other.now());
}

TEST(ManualClock, AdvanceMovesBothReadings) {
  ManualClock clock;
  const Instant wall = clock.wall_now();
  const MonotonicTime now = clock.now();

  clock.advance(1500ms);

  EXPECT_EQ(clock.wall_now() - wall, 1500ms);
  EXPECT_EQ(clock.now() - now, 1500ms);
}

TEST(ManualClock, StepMovesOnlyTheWallReading) {
  ManualClock clock;
  const Instant wall = clock.wall_now();
  const MonotonicTime now = clock.now();

  clock.step_wall(-2h);
  EXPECT_EQ(clock.wall_now() - wall, -2h);
  clock.step_wall(3h);
  EXPECT_EQ(clock.wall_now() - wall, 1h);
  EXPECT_EQ(clock.now(), now);
}

TEST(ManualClockDeathTest, RefusesToAdvanceBackwards) {
  ManualClock clock;
  EXPECT_DEATH(clock.advance(-1ns), "step_wall");
}

RC_GTEST_PROP(ManualClock, LosesNoNanosecondInSmallSteps, ()) {
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5000));
  ManualClock clock;
  const Instant wall = clock.wall_now();
  const MonotonicTime now = clock.now();

  Duration total{};
  for (const int step : steps) {
    clock.advance(Duration(step));
    total += Duration(step);
  }

  RC_ASSERT(clock.now() - now == total);
  RC_ASSERT(clock.wall_now() - wall == std::chrono::floor<std::chrono::microseconds>(total));
}

RC_GTEST_PROP(ManualClock, ReturnsToTheSameTimeAfterAStepAndItsOpposite, (int step)) {
  ManualClock clock;
  const Instant wall = clock.wall_now();
  clock.step_wall(Duration(step));
  clock.step_wall(-Duration(step));
  RC_ASSERT(clock.wall_now() == wall);
}

TEST(ManualClock, CountsTheStepsOfAllThreads) {
  ManualClock clock;
  const MonotonicTime start = clock.now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&clock] {
        for (int step = 0; step < 1000; ++step) clock.advance(1ns);
      });
    }
  }
  EXPECT_EQ(clock.now() - start, 4000ns);
}

}  // namespace
}  // namespace horae
