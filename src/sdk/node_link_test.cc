#include "sdk/node_link.h"

#include <gtest/gtest.h>

namespace horae {
namespace {

using std::literals::operator""ms;

TEST(NodeList, MovesOnOnceAlthoughSeveralLinksFail) {
  const ManualClock clock;
  NodeList list({.nodes = {"one:1", "https://two:2/", "three:3"}}, clock);
  EXPECT_EQ(list.current(), "http://one:1");
  list.move_on_from("http://one:1");
  list.move_on_from("http://one:1");  // the second connection to the same node
  EXPECT_EQ(list.current(), "https://two:2");
  list.move_on_from("https://two:2");
  list.move_on_from("http://three:3");
  EXPECT_EQ(list.current(), "http://one:1");
  EXPECT_EQ(list.failovers(), 3U);
}

TEST(NodeLink, MovesOnFromANodeThatDoesNotAnswer) {
  const ManualClock clock;
  NodeList list({.nodes = {"127.0.0.1:1", "two:2"}}, clock);
  const auto answer = NodeLink(list).post("/v1/workers", "{}", 1000ms);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(list.current(), "http://two:2");
}

TEST(Backoff, DoublesWithJitterUpToItsLongest) {
  SeededRandom random(1);
  Backoff backoff(random, 100ms, 5000ms);
  Duration most = 100ms;
  for (int i = 0; i < 20; ++i) {
    const Duration pause = backoff.next();
    EXPECT_LE(pause, most);
    EXPECT_GE(pause, most / 2);
    most = std::min<Duration>(2 * most, 5000ms);
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), 100ms);
}

}  // namespace
}  // namespace horae
