#include "engine/cluster/peer_message.h"

#include <gmock/gmock.h>

#include "base/random.h"

namespace horae {
namespace {

PeerMessage everything() {
  return {.from = "worker-7",
          .wake_ups = {.ready = {"mail", "a b:c", ""},
                       .ready_anywhere = true,
                       .cancelled = true,
                       .cancelled_owners = {"worker-1", "a b"},
                       .control = true},
          .events_lost = true,
          .events = {"{\"task\": 1}", "q4:mail", "straße\n"}};
}

TEST(PeerMessage, ReadsBackWhatWasWritten) {
  EXPECT_EQ(parse_peer_message(format_peer_message(everything())), everything());
  const PeerMessage nothing{.from = "worker-1"};
  EXPECT_EQ(parse_peer_message(format_peer_message(nothing)), nothing);
}

TEST(PeerMessage, HasTheDocumentedForm) {
  const PeerMessage message{.from = "worker-7",
                            .wake_ups = {.ready = {"mail"}, .cancelled = true, .cancelled_owners = {"me"}},
                            .events = {"news"}};
  EXPECT_EQ(format_peer_message(message), "horae1 8:worker-7 q4:mail c w2:me e4:news");
}

TEST(PeerMessage, TakesNoMoreBytesThanCalculated) {
  const PeerMessage message = everything();
  std::size_t calculated = peer_frame_bytes(message.from);
  for (const auto& each : message.wake_ups.ready) calculated += peer_item_bytes(each);
  for (const auto& each : message.wake_ups.cancelled_owners) calculated += peer_item_bytes(each);
  for (const auto& each : message.events) calculated += peer_item_bytes(each);
  EXPECT_LE(format_peer_message(message).size(), calculated);
}

TEST(PeerMessage, SkipsItemsOfUnknownKinds) {
  const auto message = parse_peer_message("horae1 8:worker-7 z q1:a y3:x y c");
  ASSERT_TRUE(message);
  EXPECT_EQ(*message, (PeerMessage{.from = "worker-7", .wake_ups = {.ready = {"a"}, .cancelled = true}}));
}

TEST(PeerMessage, RefusesTextOfAnotherForm) {
  for (const std::string text :
       {"", "x", "horae1", "horae1 ", "horae2 1:a", "horae1 1:", "horae1 2:a", "horae1 -1:a", "horae1 1a",
        "horae1 1:a q5:abc", "horae1 1:aq1:b", "horae1 1:a ", "horae1 1:a  c", "horae1 1:a q1b",
        "horae1 99999999999999999999999:a", "horae1 18446744073709551615:a"}) {
    EXPECT_FALSE(parse_peer_message(text)) << text;
  }
}

TEST(PeerMessage, SurvivesDamagedText) {
  SeededRandom random(5);
  const std::string whole = format_peer_message(everything());
  for (int i = 0; i < 20'000; ++i) {
    std::string text = whole;
    for (std::uint64_t changes = random.below(4); changes > 0; --changes) {
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    }
    text.resize(random.below(2) == 0 ? text.size() : random.below(text.size()));
    const auto message = parse_peer_message(text);
    if (!message) continue;
    EXPECT_EQ(parse_peer_message(format_peer_message(*message)), message) << text;
  }
}

}  // namespace
}  // namespace horae
