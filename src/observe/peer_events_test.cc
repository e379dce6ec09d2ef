#include "observe/peer_events.h"

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

// A node with one peer, whose messages arrive unless is_deaf_ is set.
class PeerEventsTest : public ::testing::Test {
 protected:
  void tick(Duration after = 1s, std::size_t peers = 1, bool peers_want_events = false) {
    now_ += std::chrono::duration_cast<Instant::duration>(after);
    events_.on_tick({.now = now_, .peers = peers, .peers_want_events = peers_want_events});
  }

  // 1 if a loss was reported to readers since the last call.
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
  std::vector<std::string> sent_;
  int losses_sent_ = 0;
  std::function<void()> when_loss_is_sent_ = [] {};
  std::vector<bool> wants_;
  bool is_deaf_ = false;
  Instant now_{std::chrono::hours(1)};
  std::uint64_t seen_ = 0;
  PeerEvents events_{ring_,
                     {.send = [this](std::string event) { sent_.push_back(std::move(event)); },
                      .send_loss =
                          [this] {
                            ++losses_sent_;
                            when_loss_is_sent_();
                          },
                      .set_wants_events = [this](bool wants) { wants_.push_back(wants); },
                      .is_deaf = [this] { return is_deaf_; }}};
};

TEST_F(PeerEventsTest, AnnouncesTheFirstReaderAtOnce) {
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

TEST_F(PeerEventsTest, SendsALossWhenPeersBeginToRead) {
  tick();
  EXPECT_EQ(losses_sent_, 0);
  for (int i = 0; i < 3; ++i) tick(1s, 1, true);
  EXPECT_EQ(losses_sent_, 1) << "once: from then on they get every event";
  tick(1s, 0, false);  // they are considered gone
  tick(1s, 1, true);
  EXPECT_EQ(losses_sent_, 2);
}

TEST_F(PeerEventsTest, SendsEventsThatFollowTheLoss) {
  const std::array<Change, 1> changes = {{{.event = Event::kClaim, .queue = "mail", .state = State::kRunning}}};
  when_loss_is_sent_ = [&] { events_.on_changes(changes); };
  tick(1s, 1, true);
  EXPECT_THAT(sent_, SizeIs(1));
}

TEST_F(PeerEventsTest, ReportsNoLossWithoutPeers) {
  (void)read();
  is_deaf_ = true;
  for (int i = 0; i < 5; ++i) tick(1s, 0);
  EXPECT_EQ(losses(), 0);
}

TEST_F(PeerEventsTest, ReportsALossOnceASecondWhileDeaf) {
  (void)read();
  is_deaf_ = true;
  int said = 0;
  for (int i = 0; i < 30; ++i) said += losses_of_tick(100ms);
  EXPECT_EQ(said, 3);
}

TEST_F(PeerEventsTest, ReportsALossAfterTheClockWasSetBack) {
  (void)read();
  is_deaf_ = true;
  tick();
  (void)losses();
  EXPECT_EQ(losses_of_tick(-3600s), 1);
}

TEST_F(PeerEventsTest, SendsEventsToPeersOnlyIfTheyWantThem) {
  const std::array<Change, 1> changes = {{{.event = Event::kClaim, .queue = "mail", .state = State::kRunning}}};
  (void)ring_.join([] {});
  tick();
  events_.on_changes(changes);
  EXPECT_THAT(sent_, IsEmpty());
  tick(1s, 1, true);
  events_.on_changes(changes);
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(ring_.newest(), 2U) << "readers here get both";

  events_.receive(sent_, false);
  EXPECT_EQ(ring_.after(2, 1).events.at(0).event, (LiveEvent{.task = {}, .state = State::kRunning, .queue = "mail"}));
  EXPECT_EQ(losses(), 0);
  events_.receive({"no event"}, true);
  EXPECT_EQ(losses(), 1);
}

}  // namespace
}  // namespace horae
