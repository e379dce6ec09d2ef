#include "observe/event_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Hint hint(std::uint8_t task, State state, std::string queue = "mail") {
  Hint made{.task = {}, .state = state, .queue = std::move(queue)};
  made.task.bytes[0] = task;
  return made;
}

void add(EventRing& ring, const Hint& hint) { ring.add(std::span(&hint, 1)); }

TEST(EventRing, GivesWhatCameAfterANumber) {
  EventRing ring;
  add(ring, hint(1, State::kReady));
  add(ring, hint(1, State::kRunning));
  const auto read = ring.after(1, 10);
  ASSERT_THAT(read.hints, SizeIs(1));
  EXPECT_EQ(read.hints[0].number, 2U);
  EXPECT_EQ(read.hints[0].hint, hint(1, State::kRunning));
  EXPECT_EQ(read.next, 2U);
  EXPECT_FALSE(read.is_lost);
  EXPECT_THAT(ring.after(2, 10).hints, IsEmpty());
}

TEST(EventRing, GivesPiecesThatFollowEachOther) {
  EventRing ring;
  for (std::uint8_t i = 1; i <= 5; ++i) add(ring, hint(i, State::kReady));
  const auto first = ring.after(0, 2);
  EXPECT_THAT(first.hints, SizeIs(2));
  const auto second = ring.after(first.next, 100);
  ASSERT_THAT(second.hints, SizeIs(3));
  EXPECT_EQ(second.hints[0].number, 3U);
}

TEST(EventRing, SaysThatASlowReaderHasMissedSomething) {
  EventRing ring(4);
  for (std::uint8_t i = 1; i <= 6; ++i) add(ring, hint(i, State::kReady));
  EXPECT_TRUE(ring.after(1, 10).is_lost);
  const auto kept = ring.after(2, 10);
  EXPECT_FALSE(kept.is_lost);
  EXPECT_THAT(kept.hints, SizeIs(4));
  EXPECT_EQ(ring.after(1, 10).next, 6U);  // and it reads on from here
}

TEST(EventRing, ANumberThatWasNeverGivenIsGone) {
  EventRing ring;
  add(ring, hint(1, State::kReady));
  EXPECT_TRUE(ring.after(7, 10).is_lost);
}

TEST(EventRing, AllReadersHearThatSomethingWasLost) {
  EventRing ring;
  add(ring, hint(1, State::kReady));
  ring.lose();
  const auto read = ring.after(1, 10);
  EXPECT_TRUE(read.is_lost);
  add(ring, hint(2, State::kReady));
  EXPECT_THAT(ring.after(read.next, 10).hints, SizeIs(1));
}

TEST(EventRing, KnowsTheQueueOfATaskThatItHeardOfBefore) {
  EventRing ring;
  add(ring, hint(1, State::kRunning, "mail"));
  add(ring, hint(1, State::kCompleted, ""));
  add(ring, hint(2, State::kCompleted, ""));
  const auto read = ring.after(0, 10);
  EXPECT_EQ(read.hints[1].hint.queue, "mail");
  EXPECT_EQ(read.hints[2].hint.queue, "");
}

TEST(EventRing, WakesReadersUntilTheyLeave) {
  EventRing ring;
  int woken = 0;
  const auto reader = ring.join([&woken] { ++woken; });
  add(ring, hint(1, State::kReady));
  ring.lose();
  EXPECT_EQ(woken, 2);
  ring.leave(reader);
  add(ring, hint(2, State::kReady));
  EXPECT_EQ(woken, 2);
  EXPECT_EQ(ring.readers(), 0U);
}

}  // namespace
}  // namespace horae
