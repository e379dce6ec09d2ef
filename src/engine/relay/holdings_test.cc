#include "engine/relay/holdings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

using std::chrono_literals::operator""s;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Instant kReadiedAt{std::chrono::seconds(1'000'000)};

ReadiedMessage readied(const std::string& id, Instant at = kReadiedAt) {
  return {.message = {.id = id, .deadline = kReadiedAt},
          .readying = {.id = id, .readied_at = at, .readied_by = {}},
          .due = kReadiedAt};
}

TEST(Holdings, AMessageIsHeldOnceForEachReadying) {
  Holdings holdings(10, 1'000'000);
  EXPECT_THAT(holdings.add({readied("a"), readied("b")}), SizeIs(2));
  EXPECT_THAT(holdings.add({readied("a")}), IsEmpty());
  EXPECT_THAT(holdings.add({readied("a", kReadiedAt + 1s)}), SizeIs(1));
  EXPECT_EQ(holdings.size(), 3U);
}

TEST(Holdings, WhatWasFiredStaysUntilATurnHasAnAnswer) {
  Holdings holdings(10, 1'000'000);
  const auto held = holdings.add({readied("a"), readied("b")});
  holdings.fired(held[0].id);
  holdings.give_back(held[1].id, 2s, true);
  const TurnWork work = holdings.next_work(10);
  EXPECT_THAT(work.fired, ElementsAre(held[0].readied.readying));
  EXPECT_THAT(work.was_asked, ElementsAre(false));
  ASSERT_THAT(work.failed, SizeIs(1));
  EXPECT_EQ(work.failed[0].delay, 2s);
  EXPECT_TRUE(work.failed[0].may_be_published);

  holdings.note_asked(work);
  const TurnWork again = holdings.next_work(10);
  EXPECT_THAT(again.fired, ElementsAre(held[0].readied.readying));
  EXPECT_THAT(again.was_asked, ElementsAre(true));
  holdings.forget(again);
  EXPECT_EQ(holdings.size(), 0U);
}

TEST(Holdings, BoundsCountAndBytes) {
  Holdings holdings(2, 1'000'000);
  EXPECT_EQ(holdings.room().max, 2U);
  (void)holdings.add({readied("a"), readied("b")});
  EXPECT_EQ(holdings.room().max, 0U);
  Holdings small(10, 100);
  (void)small.add({readied("a")});
  EXPECT_EQ(small.room().max, 0U);
}

TEST(Holdings, NothingIsReadiedBetweenALostAnswerAndItsResolution) {
  Holdings holdings(10, 1'000'000);
  EXPECT_TRUE(holdings.begin_readying());
  EXPECT_TRUE(holdings.begin_readying());
  holdings.end_readying(true);
  EXPECT_FALSE(holdings.begin_readying());
  EXPECT_FALSE(holdings.may_resolve()) << "the other call may still bring messages that held_by() lists as well";
  holdings.end_readying(false);
  EXPECT_TRUE(holdings.may_resolve());
  holdings.end_resolving();
  EXPECT_TRUE(holdings.begin_readying());
}

}  // namespace
}  // namespace horae
