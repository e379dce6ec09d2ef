#include "engine/cluster/herald_message.h"

#include <gmock/gmock.h>

#include "base/random.h"

namespace horae {
namespace {

HeraldMessage everything() {
  return {.from = "worker-7",
          .ready = {"mail", "a b:c", ""},
          .ready_anywhere = true,
          .cancelled = true,
          .control = true,
          .hints_lost = true,
          .hints = {"{\"task\": 1}", "q4:mail", "straße\n"}};
}

TEST(HeraldMessage, ComesBackAsItWas) {
  EXPECT_EQ(parse_herald_message(format_herald_message(everything())), everything());
  const HeraldMessage nothing{.from = "worker-1"};
  EXPECT_EQ(parse_herald_message(format_herald_message(nothing)), nothing);
}

TEST(HeraldMessage, LooksAsItsHeaderSays) {
  const HeraldMessage message{.from = "worker-7", .ready = {"mail"}, .cancelled = true, .hints = {"news"}};
  EXPECT_EQ(format_herald_message(message), "horae1 8:worker-7 q4:mail c h4:news");
}

TEST(HeraldMessage, TakesNoMoreBytesThanWereCounted) {
  const HeraldMessage message = everything();
  std::size_t counted = herald_frame_bytes(message.from);
  for (const auto& each : message.ready) counted += herald_item_bytes(each);
  for (const auto& each : message.hints) counted += herald_item_bytes(each);
  EXPECT_LE(format_herald_message(message).size(), counted);
}

TEST(HeraldMessage, WhatANewerNodeSaysIsPassedOver) {
  const auto message = parse_herald_message("horae1 8:worker-7 z q1:a y3:x y c");
  ASSERT_TRUE(message);
  EXPECT_EQ(*message, (HeraldMessage{.from = "worker-7", .ready = {"a"}, .cancelled = true}));
}

TEST(HeraldMessage, WhatIsNoMessageIsRefused) {
  for (const std::string text :
       {"", "x", "horae1", "horae1 ", "horae2 1:a", "horae1 1:", "horae1 2:a", "horae1 -1:a", "horae1 1a",
        "horae1 1:a q5:abc", "horae1 1:aq1:b", "horae1 1:a ", "horae1 1:a  c", "horae1 1:a q1b",
        "horae1 99999999999999999999999:a", "horae1 18446744073709551615:a"}) {
    EXPECT_FALSE(parse_herald_message(text)) << text;
  }
}

TEST(HeraldMessage, AnythingAtAllCanBeRead) {
  SeededRandom random(5);
  const std::string whole = format_herald_message(everything());
  for (int i = 0; i < 20'000; ++i) {
    std::string text = whole;
    for (std::uint64_t changes = random.below(4); changes > 0; --changes) {
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    }
    text.resize(random.below(2) == 0 ? text.size() : random.below(text.size()));
    const auto message = parse_herald_message(text);
    if (!message) continue;
    EXPECT_EQ(parse_herald_message(format_herald_message(*message)), message) << text;
  }
}

}  // namespace
}  // namespace horae
