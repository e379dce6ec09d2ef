#include "app/exchange_of_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

namespace horae {
namespace {

using std::literals::operator""ms;
using std::literals::operator""s;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A node beside one other, which is heard well until the test says otherwise.
class ExchangeOfHintsTest : public ::testing::Test {
 protected:
  void tick(Duration after = 1s, std::size_t peers = 1, bool peers_want_hints = false) {
    now_ += std::chrono::duration_cast<Instant::duration>(after);
    hints_.on_tick({.now = now_, .peers = peers, .peers_want_hints = peers_want_hints});
  }

  // 1 if readers were told to look again since the last call.
  int losses() {
    const EventRing::Read read = ring_.after(seen_, 100);
    seen_ = read.next;
    return read.is_lost ? 1 : 0;
  }
  int losses_of_tick(Duration after = 1s) {
    tick(after);
    return losses();
  }

  EventRing::ReaderId read() {
    return ring_.join([] {});
  }

  EventRing ring_{16};
  std::vector<std::string> told_;
  int losses_told_ = 0;
  std::function<void()> when_losses_are_told_ = [] {};
  std::vector<bool> wants_;
  bool is_deaf_ = false;
  Instant now_{std::chrono::hours(1)};
  std::uint64_t seen_ = 0;
  ExchangeOfHints hints_{ring_,
                         {.tell_others = [this](std::string hint) { told_.push_back(std::move(hint)); },
                          .tell_of_losses =
                              [this] {
                                ++losses_told_;
                                when_losses_are_told_();
                              },
                          .set_wants_hints = [this](bool wants) { wants_.push_back(wants); },
                          .is_deaf = [this] { return is_deaf_; }}};
};

TEST_F(ExchangeOfHintsTest, TheFirstReaderIsToldToTheOthersAtOnce) {
  tick();
  const auto first = read();
  EXPECT_THAT(wants_, ElementsAre(true)) << "without waiting for a tick";
  const auto second = read();
  tick();
  EXPECT_THAT(wants_, SizeIs(1));
  ring_.leave(first);
  tick();
  EXPECT_THAT(wants_, SizeIs(1)) << "one still reads";
  ring_.leave(second);
  tick();
  EXPECT_THAT(wants_, ElementsAre(true, false));
  (void)read();
  EXPECT_THAT(wants_, ElementsAre(true, false, true));
}

TEST_F(ExchangeOfHintsTest, OthersThatBeginToReadAreToldThatTheyMissedWhatHappenedHere) {
  tick();
  EXPECT_EQ(losses_told_, 0);
  for (int i = 0; i < 3; ++i) tick(1s, 1, true);
  EXPECT_EQ(losses_told_, 1) << "once: from then on they are told all";
  tick(1s, 0, false);  // they are taken for gone
  tick(1s, 1, true);
  EXPECT_EQ(losses_told_, 2);
}

TEST_F(ExchangeOfHintsTest, WhatHappensAfterTheOthersWereToldOfLossesIsToldToThem) {
  const std::array<Hint, 1> hints = {Hint{.task = {}, .state = State::kRunning, .queue = "mail"}};
  when_losses_are_told_ = [&] { hints_.tell(hints); };
  tick(1s, 1, true);
  EXPECT_THAT(told_, SizeIs(1));
}

TEST_F(ExchangeOfHintsTest, WithoutOthersNothingIsMissing) {
  (void)read();
  is_deaf_ = true;
  for (int i = 0; i < 5; ++i) tick(1s, 0);
  EXPECT_EQ(losses(), 0);
}

TEST_F(ExchangeOfHintsTest, ADeafNodeSaysOnceASecondThatSomethingMayBeMissing) {
  (void)read();
  is_deaf_ = true;
  int said = 0;
  for (int i = 0; i < 30; ++i) said += losses_of_tick(100ms);
  EXPECT_EQ(said, 3);
}

TEST_F(ExchangeOfHintsTest, AClockThatIsSetBackDoesNotSilenceADeafNode) {
  (void)read();
  is_deaf_ = true;
  tick();
  (void)losses();
  EXPECT_EQ(losses_of_tick(-3600s), 1);
}

TEST_F(ExchangeOfHintsTest, HintsGoToTheOthersOnlyIfTheyWantThem) {
  const std::array<Hint, 1> hints = {Hint{.task = {}, .state = State::kRunning, .queue = "mail"}};
  tick();
  hints_.tell(hints);
  EXPECT_THAT(told_, IsEmpty());
  tick(1s, 1, true);
  hints_.tell(hints);
  ASSERT_THAT(told_, SizeIs(1));
  EXPECT_EQ(ring_.newest(), 2U) << "those who read here get both";

  hints_.hear(told_, false);
  EXPECT_EQ(ring_.after(2, 1).hints.at(0).hint, hints[0]);
  EXPECT_EQ(losses(), 0);
  hints_.hear({"no hint"}, true);
  EXPECT_EQ(losses(), 1);
}

}  // namespace
}  // namespace horae
