#include "observe/event_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

LiveEvent event(std::uint8_t task, State state, std::string queue = "mail") {
  LiveEvent made{.task = {}, .state = state, .queue = std::move(queue)};
  made.task.bytes[0] = task;
  return made;
}

void add(EventRing& ring, const LiveEvent& event) { ring.add(std::span(&event, 1)); }

TEST(EventRing, ReturnsEventsAfterANumber) {
  EventRing ring;
  (void)ring.join([] {});
  add(ring, event(1, State::kReady));
  add(ring, event(1, State::kRunning));
  const auto read = ring.after(1, 10);
  ASSERT_THAT(read.events, SizeIs(1));
  EXPECT_EQ(read.events[0].number, 2U);
  EXPECT_EQ(read.events[0].event, event(1, State::kRunning));
  EXPECT_EQ(read.next, 2U);
  EXPECT_FALSE(read.is_lost);
  EXPECT_THAT(ring.after(2, 10).events, IsEmpty());
}

TEST(EventRing, ReturnsConsecutivePieces) {
  EventRing ring;
  (void)ring.join([] {});
  for (std::uint8_t i = 1; i <= 5; ++i) add(ring, event(i, State::kReady));
  const auto first = ring.after(0, 2);
  EXPECT_THAT(first.events, SizeIs(2));
  const auto second = ring.after(first.next, 100);
  ASSERT_THAT(second.events, SizeIs(3));
  EXPECT_EQ(second.events[0].number, 3U);
}

TEST(EventRing, ReportsALossToASlowReader) {
  EventRing ring(4);
  (void)ring.join([] {});
  for (std::uint8_t i = 1; i <= 6; ++i) add(ring, event(i, State::kReady));
  EXPECT_TRUE(ring.after(1, 10).is_lost);
  const auto kept = ring.after(2, 10);
  EXPECT_FALSE(kept.is_lost);
  EXPECT_THAT(kept.events, SizeIs(4));
  EXPECT_EQ(ring.after(1, 10).next, 6U);  // and it reads on from here
}

TEST(EventRing, ReportsALossForANumberThatWasNeverGiven) {
  EventRing ring;
  (void)ring.join([] {});
  add(ring, event(1, State::kReady));
  EXPECT_TRUE(ring.after(7, 10).is_lost);
}

TEST(EventRing, ReportsALossToAllReaders) {
  EventRing ring;
  (void)ring.join([] {});
  add(ring, event(1, State::kReady));
  ring.lose();
  const auto read = ring.after(1, 10);
  EXPECT_TRUE(read.is_lost);
  add(ring, event(2, State::kReady));
  EXPECT_THAT(ring.after(read.next, 10).events, SizeIs(1));
}

TEST(EventRing, RemembersTheQueueOfATask) {
  EventRing ring;
  (void)ring.join([] {});
  add(ring, event(1, State::kRunning, "mail"));
  add(ring, event(1, State::kCompleted, ""));
  add(ring, event(2, State::kCompleted, ""));
  const auto read = ring.after(0, 10);
  EXPECT_EQ(read.events[1].event.queue, "mail");
  EXPECT_EQ(read.events[2].event.queue, "");
}

TEST(EventRing, KeepsChangesOfTasksAsEvents) {
  EventRing ring;
  (void)ring.join([] {});
  const std::vector<Change> changes = {{.event = Event::kSubmit, .queue = "mail", .state = State::kReady},
                                       {.event = Event::kSubmit, .state = State::kReady, .is_new = false},
                                       {.kind = Change::Kind::kTasks, .event = Event::kHeartbeat, .count = 3},
                                       {.kind = Change::Kind::kQueue, .queue = "mail"}};
  int woken = 0;
  (void)ring.join([&woken] { ++woken; });
  ring.add(changes);
  const auto read = ring.after(0, 10);
  ASSERT_THAT(read.events, SizeIs(1));
  EXPECT_EQ(read.events[0].event, event(0, State::kReady));
  ring.add(std::span(changes).subspan(1));
  EXPECT_EQ(ring.newest(), 1U);
  EXPECT_EQ(woken, 1) << "only by events";
}

TEST(EventRing, WakesReadersUntilTheyLeave) {
  EventRing ring;
  int woken = 0;
  const auto reader = ring.join([&woken] { ++woken; });
  add(ring, event(1, State::kReady));
  ring.lose();
  EXPECT_EQ(woken, 2);
  ring.leave(reader);
  add(ring, event(2, State::kReady));
  EXPECT_EQ(woken, 2);
  EXPECT_EQ(ring.readers(), 0U);
}

TEST(EventRing, KeepsNothingBeforeTheFirstReader) {
  EventRing ring;
  const std::vector<Change> changes = {{.task = event(1, State::kReady).task, .queue = "mail", .state = State::kReady}};
  ring.add(changes);
  EXPECT_EQ(ring.newest(), 1U);
  EXPECT_TRUE(ring.after(0, 10).is_lost);

  (void)ring.join([] {});
  add(ring, event(1, State::kCompleted, ""));
  const auto read = ring.after(1, 10);
  ASSERT_THAT(read.events, SizeIs(1));
  EXPECT_EQ(read.events[0].event.queue, "mail");  // it is remembered all the same
}

TEST(EventRing, AReaderThatBeginsBetweenTwoEventsMissesNone) {
  EventRing ring;
  const std::vector<Change> changes = {{.task = event(1, State::kReady).task, .queue = "mail", .state = State::kReady}};
  ring.add(changes);
  const std::uint64_t begun = ring.newest();
  ring.add(changes);
  (void)ring.join([] {});
  EXPECT_TRUE(ring.after(begun, 10).is_lost);
}

TEST(EventRing, KeepsWhatTheLastReaderMayResume) {
  EventRing ring(4);
  const auto reader = ring.join([] {});
  add(ring, event(1, State::kReady));
  ring.leave(reader);
  for (std::uint8_t i = 2; i <= 5; ++i) add(ring, event(i, State::kReady));
  EXPECT_THAT(ring.after(1, 10).events, SizeIs(4));
  add(ring, event(6, State::kReady));
  EXPECT_TRUE(ring.after(1, 10).is_lost);
}

}  // namespace
}  // namespace horae
