#include "engine/cluster/notifier.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

namespace horae {
namespace {

using std::literals::operator""ms;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Records what is sent.
class RecordingBulletin final : public Bulletin {
 public:
  Result<void> tell(std::string_view message) override {
    if (message.size() > kMaxBulletinBytes) return Error{ErrorCode::kRefused, "too long"};
    if (is_away) return Error{ErrorCode::kUnavailable, "away"};
    sent.push_back(parse_peer_message(message).value());
    return {};
  }
  bool can_hear() const override { return true; }

  std::vector<PeerMessage> sent;
  bool is_away = false;
};

class NotifierTest : public ::testing::Test {
 protected:
  NotifierTest() {
    notifier_.set_bulletin(&bulletin_);
    notifier_.set_peers(1, true);
  }

  MonotonicTime run() { return notifier_.run_once(clock_.now()); }

  ManualClock clock_;
  std::ostringstream said_;
  int wakes_ = 0;
  RecordingBulletin bulletin_;
  Notifier notifier_{"worker-7", Logger(said_, clock_), [this] { ++wakes_; }};
};

TEST_F(NotifierTest, SendsTheFirstNewsAtOnceAndGathersTheNext) {
  notifier_.wake_peers({.ready = {"a"}});
  EXPECT_EQ(wakes_, 1);
  run();
  EXPECT_THAT(bulletin_.sent, ElementsAre(PeerMessage{.from = "worker-7", .wake_ups = {.ready = {"a"}}}));

  notifier_.wake_peers({.ready = {"b"}});
  EXPECT_EQ(wakes_, 2);
  EXPECT_EQ(run(), clock_.now() + 5ms);
  notifier_.wake_peers({.ready = {"c", "b"}});
  notifier_.wake_peers({.cancelled = true});
  notifier_.wake_peers({.control = true});
  notifier_.wake_peers({.ready_anywhere = true});
  notifier_.send_event("x");
  EXPECT_EQ(wakes_, 2) << "the loop is awake already";
  EXPECT_THAT(bulletin_.sent, SizeIs(1));
  clock_.advance(5ms);
  run();
  ASSERT_THAT(bulletin_.sent, SizeIs(2));
  EXPECT_EQ(bulletin_.sent[1],
            (PeerMessage{.from = "worker-7",
                         .wake_ups = {.ready = {"b", "c"}, .ready_anywhere = true, .cancelled = true, .control = true},
                         .events = {"x"}}));
}

TEST_F(NotifierTest, SendsCountedQueuesWithoutTheirCounts) {
  notifier_.wake_peers({.counted = {{"b", 7}}, .ready = {"a", "b"}});
  run();
  EXPECT_THAT(bulletin_.sent, ElementsAre(PeerMessage{.from = "worker-7", .wake_ups = {.ready = {"a", "b"}}}));
}

TEST_F(NotifierTest, SendsTheOwnersOfCancelledTasksOverSeveralMessages) {
  std::vector<std::string> owners;
  for (int i = 0; i < 100; ++i) owners.push_back(std::to_string(100 + i) + std::string(125, 'w'));
  notifier_.wake_peers({.cancelled = true, .cancelled_owners = owners});
  while (run() == clock_.now() + 5ms) clock_.advance(5ms);
  std::vector<std::string> sent;
  for (const PeerMessage& each : bulletin_.sent) {
    std::ranges::copy(each.wake_ups.cancelled_owners, std::back_inserter(sent));
  }
  EXPECT_EQ(sent, owners);
  EXPECT_GT(bulletin_.sent.size(), 1U);
}

TEST_F(NotifierTest, GathersAndSendsNothingWithoutPeers) {
  notifier_.set_peers(0, false);
  notifier_.wake_peers({.ready = {"a"}});
  notifier_.wake_peers({.cancelled = true});
  notifier_.send_event("x");
  EXPECT_EQ(wakes_, 0);
  notifier_.set_peers(1, true);
  run();
  EXPECT_THAT(bulletin_.sent, IsEmpty());
}

TEST_F(NotifierTest, SendsNothingWhileIdle) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_GE(run(), clock_.now() + 1000ms);
    clock_.advance(100ms);
  }
  EXPECT_THAT(bulletin_.sent, IsEmpty());
}

TEST_F(NotifierTest, SendsNoEventsThatNobodyWants) {
  notifier_.set_peers(1, false);
  notifier_.send_event("x");
  EXPECT_EQ(wakes_, 0);
  run();
  EXPECT_THAT(bulletin_.sent, IsEmpty());
}

TEST_F(NotifierTest, SendsEventsInOrderOverSeveralMessages) {
  std::vector<std::string> events;
  for (int i = 0; i < 20; ++i) events.push_back(std::to_string(i) + std::string(1'000, 'x'));
  for (const std::string& event : events) notifier_.send_event(event);
  notifier_.wake_peers({.ready = {"a"}});
  while (run() == clock_.now() + 5ms) clock_.advance(5ms);
  std::vector<std::string> sent;
  for (const PeerMessage& each : bulletin_.sent) {
    EXPECT_FALSE(each.events_lost);
    std::ranges::copy(each.events, std::back_inserter(sent));
  }
  EXPECT_EQ(sent, events);
  EXPECT_THAT(bulletin_.sent, SizeIs(3));
}

TEST_F(NotifierTest, ReportsALossWhenTooManyEventsWait) {
  for (int i = 0; i < 1'001; ++i) notifier_.send_event("x");
  notifier_.send_all();
  std::size_t events = 0;
  bool is_lost = false;
  for (const PeerMessage& each : bulletin_.sent) {
    events += each.events.size();
    is_lost = is_lost || each.events_lost;
  }
  EXPECT_EQ(events, 1'000U);
  EXPECT_TRUE(is_lost);
}

TEST_F(NotifierTest, ReportsALossForAnEventThatCannotBeSent) {
  for (const std::string& bad : {std::string(kMaxBulletinBytes, 'x'), std::string("\xff"), std::string("\0", 1)}) {
    notifier_.send_event(bad);
    notifier_.send_all();
    EXPECT_EQ(bulletin_.sent.back(), (PeerMessage{.from = "worker-7", .events_lost = true}));
  }
}

TEST_F(NotifierTest, SendsALossAtOnce) {
  notifier_.send_event_loss();
  EXPECT_EQ(wakes_, 1);
  run();
  EXPECT_THAT(bulletin_.sent, ElementsAre(PeerMessage{.from = "worker-7", .events_lost = true}));
}

TEST_F(NotifierTest, ReportsALossAfterAMessageThatFailed) {
  bulletin_.is_away = true;
  notifier_.send_event("x");
  EXPECT_EQ(run(), clock_.now() + 1000ms) << "it retries with a delay";
  clock_.advance(1000ms);
  EXPECT_EQ(run(), clock_.now() + 1000ms) << "the loss is kept until it is sent";
  bulletin_.is_away = false;
  notifier_.send_event("y");
  clock_.advance(1000ms);
  EXPECT_GT(run(), clock_.now() + 1000ms);
  EXPECT_THAT(bulletin_.sent, ElementsAre(PeerMessage{.from = "worker-7", .events_lost = true, .events = {"y"}}));
}

TEST_F(NotifierTest, TriesOnceWhenTheNodeStops) {
  bulletin_.is_away = true;
  notifier_.send_event("x");
  notifier_.send_all();
  bulletin_.is_away = false;
  notifier_.send_all();
  EXPECT_THAT(bulletin_.sent, ElementsAre(PeerMessage{.from = "worker-7", .events_lost = true}));
}

TEST_F(NotifierTest, SendsReadyAnywhereForTooManyQueues) {
  std::vector<std::string> queues;
  for (int i = 0; i < 100; ++i) queues.push_back(std::to_string(i) + std::string(100, 'q'));
  notifier_.wake_peers({.ready = queues});
  notifier_.send_event("x");
  run();
  EXPECT_THAT(bulletin_.sent,
              ElementsAre(PeerMessage{.from = "worker-7", .wake_ups = {.ready_anywhere = true}, .events = {"x"}}));
}

TEST_F(NotifierTest, DropsWakeUpsOfAMessageThatFailed) {
  bulletin_.is_away = true;
  notifier_.wake_peers({.ready = {"a"}});
  run();
  bulletin_.is_away = false;
  clock_.advance(1000ms);
  run();
  EXPECT_THAT(bulletin_.sent, IsEmpty());
}

}  // namespace
}  // namespace horae
