#include "base/random.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <limits>
#include <set>
#include <thread>
#include <vector>

namespace horae {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// Returns the scripted numbers in order.
class ScriptedRandom final : public Random {
 public:
  explicit ScriptedRandom(std::vector<std::uint64_t> script) : script_(std::move(script)) {}
  std::uint64_t next() override { return script_.at(used_++); }
  std::size_t used() const { return used_; }

 private:
  std::vector<std::uint64_t> script_;
  std::size_t used_ = 0;
};

TEST(Random, UnitIsFromZeroToJustBelowOne) {
  ScriptedRandom random({0, kMax, std::uint64_t{1} << 63});
  EXPECT_EQ(random.unit(), 0.0);
  EXPECT_EQ(random.unit(), 1.0 - 0x1p-53);
  EXPECT_EQ(random.unit(), 0.5);
}

TEST(Random, RejectsDrawsThatWouldBiasTheRemainder) {
  // 2^64 mod 3 is 1, so the draw 0 is rejected.
  ScriptedRandom random({0, 7, kMax});
  EXPECT_EQ(random.below(3), 1U);
  EXPECT_EQ(random.used(), 2U);
  EXPECT_EQ(random.below(3), 0U);
}

TEST(Random, NeedsOneDrawForPowersOfTwo) {
  ScriptedRandom random({0, kMax, 5});
  EXPECT_EQ(random.below(1), 0U);
  EXPECT_EQ(random.below(8), 7U);
  EXPECT_EQ(random.below(std::uint64_t{1} << 63), 5U);
}

TEST(RandomDeathTest, RefusesABoundOfZero) {
  SeededRandom random(1);
  EXPECT_DEATH(random.below(0), "no number below 0");
}

RC_GTEST_PROP(Random, StaysBelowTheBound, (std::uint64_t seed)) {
  SeededRandom random(seed);
  const auto bound =
      *rc::gen::oneOf(rc::gen::positive<std::uint64_t>(), rc::gen::just(kMax / 2 + 2), rc::gen::just(kMax));
  for (int i = 0; i < 20; ++i) RC_ASSERT(random.below(bound) < bound);
}

TEST(Random, IsAboutUniform) {
  SeededRandom random(1);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60'000; ++i) ++counts.at(random.below(6));
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

TEST(SeededRandom, ReturnsTheSequenceOfTheStandard) {
  SeededRandom random(5489);
  for (int i = 1; i < 10'000; ++i) random.next();
  EXPECT_EQ(random.next(), 9981545732273789042U);
}

TEST(SeededRandom, RepeatsItselfForTheSameSeedOnly) {
  SeededRandom first(7);
  SeededRandom same(7);
  SeededRandom other(8);
  const std::uint64_t drawn = first.next();
  EXPECT_EQ(same.next(), drawn);
  EXPECT_NE(other.next(), drawn);
}

TEST(SystemRandom, DoesNotRepeatItself) {
  SystemRandom random;
  std::set<std::uint64_t> drawn;
  std::uint64_t seen_bits = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t bits = random.next();
    drawn.insert(bits);
    seen_bits |= bits;
  }
  EXPECT_EQ(drawn.size(), 100U);
  EXPECT_EQ(seen_bits, kMax) << "each of the 64 bits is used";
}

TEST(SystemRandom, BuffersOfTwoThreadsNeverRepeatANumber) {
  constexpr std::size_t kDraws = 1'000;  // many times the size of the buffer
  SystemRandom random;
  std::vector<std::uint64_t> mine, theirs;
  std::thread other([&] {
    for (std::size_t i = 0; i < kDraws; ++i) theirs.push_back(random.next());
  });
  for (std::size_t i = 0; i < kDraws; ++i) mine.push_back(random.next());
  other.join();
  std::set<std::uint64_t> all(mine.begin(), mine.end());
  all.insert(theirs.begin(), theirs.end());
  EXPECT_EQ(all.size(), 2 * kDraws);
  EXPECT_FALSE(all.contains(0)) << "a wiped place of the buffer was returned";
}

}  // namespace
}  // namespace horae
