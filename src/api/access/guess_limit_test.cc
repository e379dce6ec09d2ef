#include "api/access/guess_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/metrics.h"

namespace horae {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

struct GuessWorld {
  void guess(std::string_view peer, int times) {
    for (int i = 0; i < times; ++i) guesses.missed(peer);
  }

  ManualClock clock;
  Metrics metrics;
  GuessLimit guesses{clock, metrics};
};

TEST(GuessLimit, AddressesAreGroupedWithoutTheirPort) {
  EXPECT_EQ(address_group("127.0.0.1:50312"), "127.0.0.1");
  EXPECT_EQ(address_group("[2001:db8:1:2:3:4:5:6]:50312"), "2001:db8:1:2::/64");
  EXPECT_EQ(address_group("[2001:db8:1:2:ffff::1]:1"), "2001:db8:1:2::/64");
  EXPECT_EQ(address_group("[::1]:443"), "::/64");
  EXPECT_EQ(address_group("[::ffff:10.0.0.7]:1"), "::ffff:10.0.0.7");
  EXPECT_EQ(address_group(""), "");
  EXPECT_EQ(address_group("["), "");
}

TEST(GuessLimit, AHundredMissesInASecondAreLookedUpAndNoMore) {
  GuessWorld world;
  world.guess("10.0.0.1:1", kMissesPerSecond - 1);
  EXPECT_EQ(world.guesses.wait("10.0.0.1:2"), std::nullopt);
  world.guess("10.0.0.1:2", 1);
  ASSERT_TRUE(world.guesses.wait("10.0.0.1:3"));
  EXPECT_EQ(*world.guesses.wait("10.0.0.1:3"), 10ms);
  EXPECT_EQ(world.guesses.wait("10.0.0.2:1"), std::nullopt) << "another address";
  world.clock.advance(10ms);
  EXPECT_EQ(world.guesses.wait("10.0.0.1:3"), std::nullopt);
}

TEST(GuessLimit, RefusedCallsDoNotProlongTheWait) {
  GuessWorld world;
  world.guess("10.0.0.1:1", kMissesPerSecond);
  for (int i = 0; i < 1000; ++i) EXPECT_NE(world.guesses.wait("10.0.0.1:1"), std::nullopt);
  world.clock.advance(1s);
  world.guess("10.0.0.1:1", kMissesPerSecond - 1);
  EXPECT_EQ(world.guesses.wait("10.0.0.1:1"), std::nullopt);
}

TEST(GuessLimit, IsShownInMetrics) {
  GuessWorld world;
  world.guess("10.0.0.1:1", kMissesPerSecond);
  (void)world.guesses.wait("10.0.0.1:1");
  (void)world.guesses.wait("10.0.0.1:1");
  const std::string text = world.metrics.text();
  EXPECT_THAT(text, HasSubstr("\nhorae_token_misses_total 100\n"));
  EXPECT_THAT(text, HasSubstr("\nhorae_token_guesses_slowed_total 2\n"));
}

}  // namespace
}  // namespace horae
