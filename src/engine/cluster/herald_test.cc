#include "engine/cluster/herald.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

namespace horae {
namespace {

using std::literals::operator""ms;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Keeps what was told.
class NotedBulletin final : public Bulletin {
 public:
  Result<void> tell(std::string_view message) override {
    if (message.size() > kMaxBulletinBytes) return Error{ErrorCode::kRefused, "too long"};
    if (is_away) return Error{ErrorCode::kUnavailable, "away"};
    told.push_back(parse_herald_message(message).value());
    return {};
  }
  bool can_hear() const override { return true; }

  std::vector<HeraldMessage> told;
  bool is_away = false;
};

class HeraldTest : public ::testing::Test {
 protected:
  HeraldTest() {
    herald_.set_bulletin(&bulletin_);
    herald_.set_peers(1, true);
  }

  MonotonicTime run() { return herald_.run_once(clock_.now()); }

  ManualClock clock_;
  std::ostringstream said_;
  int wakes_ = 0;
  NotedBulletin bulletin_;
  Herald herald_{"worker-7", Logger(said_, clock_), [this] { ++wakes_; }};
};

TEST_F(HeraldTest, TheFirstNewsGoAtOnceAndTheNextOnesTogether) {
  herald_.ready({"a"});
  EXPECT_EQ(wakes_, 1);
  run();
  EXPECT_THAT(bulletin_.told, ElementsAre(HeraldMessage{.from = "worker-7", .ready = {"a"}}));

  herald_.ready({"b"});
  EXPECT_EQ(wakes_, 2);
  EXPECT_EQ(run(), clock_.now() + 5ms);
  herald_.ready({"c", "b"});
  herald_.cancelled();
  herald_.control();
  herald_.ready_anywhere();
  herald_.hint("x");
  EXPECT_EQ(wakes_, 2) << "the loop knows already";
  EXPECT_THAT(bulletin_.told, SizeIs(1));
  clock_.advance(5ms);
  run();
  ASSERT_THAT(bulletin_.told, SizeIs(2));
  EXPECT_EQ(bulletin_.told[1], (HeraldMessage{.from = "worker-7",
                                              .ready = {"b", "c"},
                                              .ready_anywhere = true,
                                              .cancelled = true,
                                              .control = true,
                                              .hints = {"x"}}));
}

TEST_F(HeraldTest, WithoutOthersNothingIsGatheredAndNothingSent) {
  herald_.set_peers(0, false);
  herald_.ready({"a"});
  herald_.cancelled();
  herald_.hint("x");
  EXPECT_EQ(wakes_, 0);
  herald_.set_peers(1, true);
  run();
  EXPECT_THAT(bulletin_.told, IsEmpty());
}

TEST_F(HeraldTest, AnIdleLoopSaysNothing) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_GE(run(), clock_.now() + 1000ms);
    clock_.advance(100ms);
  }
  EXPECT_THAT(bulletin_.told, IsEmpty());
}

TEST_F(HeraldTest, HintsAreSentOnlyToThoseWhoWantThem) {
  herald_.set_peers(1, false);
  herald_.hint("x");
  EXPECT_EQ(wakes_, 0);
  run();
  EXPECT_THAT(bulletin_.told, IsEmpty());
}

TEST_F(HeraldTest, HintsThatDoNotFitFollowInTheirOrder) {
  std::vector<std::string> hints;
  for (int i = 0; i < 20; ++i) hints.push_back(std::to_string(i) + std::string(1'000, 'x'));
  for (const std::string& hint : hints) herald_.hint(hint);
  herald_.ready({"a"});
  while (run() == clock_.now() + 5ms) clock_.advance(5ms);
  std::vector<std::string> told;
  for (const HeraldMessage& each : bulletin_.told) {
    EXPECT_FALSE(each.hints_lost);
    std::ranges::copy(each.hints, std::back_inserter(told));
  }
  EXPECT_EQ(told, hints);
  EXPECT_THAT(bulletin_.told, SizeIs(3));
}

TEST_F(HeraldTest, HintsBeyondTheLimitAreLostAndTheOthersKnow) {
  for (int i = 0; i < 1'001; ++i) herald_.hint("x");
  herald_.send_all();
  std::size_t hints = 0;
  bool is_lost = false;
  for (const HeraldMessage& each : bulletin_.told) {
    hints += each.hints.size();
    is_lost = is_lost || each.hints_lost;
  }
  EXPECT_EQ(hints, 1'000U);
  EXPECT_TRUE(is_lost);
}

TEST_F(HeraldTest, HintsThatCannotBeSentAreLostAndTheOthersKnow) {
  for (const std::string& bad : {std::string(kMaxBulletinBytes, 'x'), std::string("\xff"), std::string("\0", 1)}) {
    herald_.hint(bad);
    herald_.send_all();
    EXPECT_EQ(bulletin_.told.back(), (HeraldMessage{.from = "worker-7", .hints_lost = true}));
  }
}

TEST_F(HeraldTest, ThatSomethingWasMissedIsToldAtOnce) {
  herald_.hints_lost();
  EXPECT_EQ(wakes_, 1);
  run();
  EXPECT_THAT(bulletin_.told, ElementsAre(HeraldMessage{.from = "worker-7", .hints_lost = true}));
}

TEST_F(HeraldTest, HintsOfAMessageThatFailedAreLostAndTheOthersKnow) {
  bulletin_.is_away = true;
  herald_.hint("x");
  EXPECT_EQ(run(), clock_.now() + 1000ms) << "it tries again, but not all the time";
  clock_.advance(1000ms);
  EXPECT_EQ(run(), clock_.now() + 1000ms) << "that they are lost is not forgotten, either";
  bulletin_.is_away = false;
  herald_.hint("y");
  clock_.advance(1000ms);
  EXPECT_GT(run(), clock_.now() + 1000ms);
  EXPECT_THAT(bulletin_.told, ElementsAre(HeraldMessage{.from = "worker-7", .hints_lost = true, .hints = {"y"}}));
}

TEST_F(HeraldTest, ANodeThatStopsTriesOnce) {
  bulletin_.is_away = true;
  herald_.hint("x");
  herald_.send_all();
  bulletin_.is_away = false;
  herald_.send_all();
  EXPECT_THAT(bulletin_.told, ElementsAre(HeraldMessage{.from = "worker-7", .hints_lost = true}));
}

TEST_F(HeraldTest, TooManyNamesOfQueuesBecomeAnywhere) {
  std::vector<std::string> queues;
  for (int i = 0; i < 100; ++i) queues.push_back(std::to_string(i) + std::string(100, 'q'));
  herald_.ready(queues);
  herald_.hint("x");
  run();
  EXPECT_THAT(bulletin_.told, ElementsAre(HeraldMessage{.from = "worker-7", .ready_anywhere = true, .hints = {"x"}}));
}

TEST_F(HeraldTest, WhatCannotBeToldIsForgotten) {
  bulletin_.is_away = true;
  herald_.ready({"a"});
  run();
  bulletin_.is_away = false;
  clock_.advance(1000ms);
  run();
  EXPECT_THAT(bulletin_.told, IsEmpty());
}

}  // namespace
}  // namespace horae
