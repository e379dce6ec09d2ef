#include "stores/postgres/cache/floors.h"

#include <gtest/gtest.h>

namespace horae::postgres {
namespace {

using std::literals::operator""s;
using std::literals::operator""ms;

constexpr int kQueue = 1;

class FloorsTest : public ::testing::Test {
 protected:
  // A look that finds `lowest` first.
  void look(std::int64_t lowest) { floors_.end(kQueue, floors_.begin(kQueue), lowest); }

  ManualClock clock_;
  Floors floors_{clock_};
};

TEST_F(FloorsTest, TheFirstLookHasNone) { EXPECT_EQ(floors_.begin(kQueue).floor, Floors::kNone); }

TEST_F(FloorsTest, TheNextLookBeginsWhereTheLastOneFoundTasks) {
  look(100);
  EXPECT_EQ(floors_.begin(kQueue).floor, 100);
}

TEST_F(FloorsTest, EachQueueHasItsOwn) {
  look(100);
  EXPECT_EQ(floors_.begin(2).floor, Floors::kNone);
}

TEST_F(FloorsTest, TasksThatBecomeReadyLowerIt) {
  look(100);
  floors_.lower(kQueue, 70);
  floors_.lower(kQueue, 90);
  EXPECT_EQ(floors_.begin(kQueue).floor, 70);
}

TEST_F(FloorsTest, ALookDoesNotRaiseItAboveWhatBecameReadyMeanwhile) {
  look(100);
  const auto under_way = floors_.begin(kQueue);
  floors_.lower(kQueue, 70);
  floors_.end(kQueue, under_way, 120);
  EXPECT_EQ(floors_.begin(kQueue).floor, 70);
}

TEST_F(FloorsTest, ALookRaisesItAlthoughHigherOnesBecameReadyMeanwhile) {
  look(100);
  const auto under_way = floors_.begin(kQueue);
  floors_.lower(kQueue, 150);
  floors_.lower(kQueue, 140);
  floors_.end(kQueue, under_way, 120);
  EXPECT_EQ(floors_.begin(kQueue).floor, 120);
}

TEST_F(FloorsTest, OnlyWhatBecameReadySinceTheLookCounts) {
  look(100);
  floors_.lower(kQueue, 70);
  const auto under_way = floors_.begin(kQueue);
  floors_.lower(kQueue, 150);
  floors_.end(kQueue, under_way, 170);
  EXPECT_EQ(floors_.begin(kQueue).floor, 150);
}

TEST_F(FloorsTest, ALookThatLastedTooLongRaisesNothing) {
  look(100);
  const auto under_way = floors_.begin(kQueue);
  for (std::int64_t rank = 110; rank < 2'000; ++rank) floors_.lower(kQueue, rank);
  floors_.end(kQueue, under_way, 5'000);
  EXPECT_EQ(floors_.begin(kQueue).floor, 100);
}

TEST_F(FloorsTest, OneLookEachSecondIgnoresIt) {
  look(100);
  clock_.advance(999ms);
  EXPECT_EQ(floors_.begin(kQueue).floor, 100);
  clock_.advance(1ms);
  EXPECT_EQ(floors_.begin(kQueue).floor, Floors::kNone);
  EXPECT_EQ(floors_.begin(kQueue).floor, 100);  // the others go on meanwhile
}

TEST_F(FloorsTest, ASlowFullLookComesRarely) {
  const auto full = floors_.begin(kQueue);
  clock_.advance(1s);
  floors_.end(kQueue, full, 100);
  clock_.advance(19s);
  EXPECT_EQ(floors_.begin(kQueue).floor, 100);
  clock_.advance(1s);
  EXPECT_EQ(floors_.begin(kQueue).floor, Floors::kNone);
}

}  // namespace
}  // namespace horae::postgres
