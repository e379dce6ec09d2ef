#include "base/uuid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "base/time_text.h"

namespace horae {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// The example of version 7 in RFC 9562, appendix A.6.
constexpr std::string_view kRfcExample = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";

struct World {
  ManualClock clock;
  SeededRandom random{1};
  UuidSource source{clock, random};
};

TEST(Uuid, ReadsAndWritesTheUsualForm) {
  const auto uuid = parse_uuid(kRfcExample);
  ASSERT_TRUE(uuid.ok());
  EXPECT_EQ(uuid->bytes.front(), 0x01);
  EXPECT_EQ(uuid->bytes.back(), 0x8f);
  EXPECT_EQ(to_string(*uuid), kRfcExample);
}

TEST(Uuid, ReadsUpperCase) { EXPECT_EQ(*parse_uuid("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), *parse_uuid(kRfcExample)); }

TEST(Uuid, ReadsAnyVersionAndTheNilUuid) {
  EXPECT_EQ(*parse_uuid("00000000-0000-0000-0000-000000000000"), Uuid{});
  EXPECT_EQ(version_of(*parse_uuid("919108f7-52d1-4320-9bac-f847db4148a8")), 4);
  EXPECT_EQ(version_of(*parse_uuid("ffffffff-ffff-ffff-ffff-ffffffffffff")), 15);
}

TEST(Uuid, RefusesOtherTextAndSaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "has 0 characters, not the 36"},
      {"017f22e279b07cc398c4dc0c0c07398f", "has 32 characters, not the 36"},
      {"017f22e2-79b0-7cc3-98c4-dc0c0c07398f0", "has 37 characters, not the 36"},
      {"{17f22e2-79b0-7cc3-98c4-dc0c0c07398}", "character 1 is not a hexadecimal digit"},
      {"017f22e2-79b0-7cc3-98c4-dc0c0c07398g", "character 36 is not a hexadecimal digit"},
      {"017f22e2-79b0-7cc3-98c4--c0c0c07398f", "character 25 is not a hexadecimal digit"},
      {"017f22e2079b0-7cc3-98c4-dc0c0c07398f", "'-' is expected as character 9"},
      {"017f22e2-79b0-7cc3-98c40dc0c0c07398f", "'-' is expected as character 24"},
      {"017f22e2-79b0-7cc3-98c4-dc0c0c0739\xc3\xa9", "character 35 is not a hexadecimal digit"},
  };
  for (const auto& [text, reason] : table) {
    const auto uuid = parse_uuid(text);
    ASSERT_FALSE(uuid.ok()) << text;
    EXPECT_EQ(uuid.error().code, ErrorCode::kMalformed);
    EXPECT_THAT(uuid.error().message, HasSubstr(reason));
  }
}

TEST(Uuid, ReturnsTheTimeOfAVersion7) {
  EXPECT_EQ(time_of(*parse_uuid(kRfcExample)), *parse_instant("2022-02-22T19:22:22Z"));
}

TEST(Uuid, ReturnsNoTimeForOtherVersionsAndVariants) {
  EXPECT_EQ(time_of(Uuid{}), std::nullopt);
  EXPECT_EQ(time_of(*parse_uuid("017f22e2-79b0-4cc3-98c4-dc0c0c07398f")), std::nullopt);
  EXPECT_EQ(time_of(*parse_uuid("017f22e2-79b0-7cc3-18c4-dc0c0c07398f")), std::nullopt);
}

TEST(Uuid, ReturnsNoTimeBeyondTheSupportedRange) {
  EXPECT_EQ(time_of(*parse_uuid("e677d21f-dbff-7000-8000-000000000000")), *parse_instant("9999-12-31T23:59:59.999Z"));
  EXPECT_EQ(time_of(*parse_uuid("e677d21f-dc00-7000-8000-000000000000")), std::nullopt);
}

Uuid uuid_of(const std::vector<std::uint8_t>& bytes) {
  Uuid uuid;
  std::copy_n(bytes.begin(), 16, uuid.bytes.begin());
  return uuid;
}

rc::Gen<Uuid> any_uuid() {
  return rc::gen::map(rc::gen::container<std::vector<std::uint8_t>>(16, rc::gen::arbitrary<std::uint8_t>()), uuid_of);
}

RC_GTEST_PROP(Uuid, ReadsBackWhatItWrote, ()) {
  const Uuid uuid = *any_uuid();
  RC_ASSERT(*parse_uuid(to_string(uuid)) == uuid);
}

RC_GTEST_PROP(Uuid, SortsLikeItsText, ()) {
  const Uuid a = *any_uuid();
  const Uuid b = *any_uuid();
  RC_ASSERT((a < b) == (to_string(a) < to_string(b)));
}

RC_GTEST_PROP(Uuid, HasAHashThatDependsOnEachByte, ()) {
  const Uuid uuid = *any_uuid();
  Uuid other = uuid;
  other.bytes.at(*rc::gen::inRange<std::size_t>(0, 16)) ^= 1;
  RC_ASSERT(std::hash<Uuid>{}(uuid) == std::hash<Uuid>{}(Uuid(uuid)));
  RC_ASSERT(std::hash<Uuid>{}(uuid) != std::hash<Uuid>{}(other));
}

TEST(UuidSource, MakesVersion7WithTheTimeOfTheClock) {
  World world;
  world.clock.advance(1234567us);
  const Uuid uuid = world.source.next();
  EXPECT_EQ(version_of(uuid), 7);
  EXPECT_EQ(uuid.bytes[8] >> 6, 0b10) << "the variant of RFC 9562";
  EXPECT_EQ(time_of(uuid), std::chrono::floor<std::chrono::milliseconds>(world.clock.wall_now()));
}

TEST(UuidSource, RunsAheadOfTheClockWhenAMillisecondIsFull) {
  World world;
  const Instant start = world.clock.wall_now();
  Uuid last = world.source.next();
  for (int made = 2; made <= 4096; ++made) {
    const Uuid next = world.source.next();
    ASSERT_LT(last, next);
    ASSERT_EQ(time_of(next), start);
    last = next;
  }
  const Uuid next = world.source.next();
  EXPECT_LT(last, next);
  EXPECT_EQ(time_of(next), start + 1ms);
}

TEST(UuidSource, FillsTheRestWithRandomBits) {
  World world;
  std::set<std::vector<std::uint8_t>> tails;
  for (int i = 0; i < 1000; ++i) {
    const Uuid uuid = world.source.next();
    tails.emplace(uuid.bytes.begin() + 8, uuid.bytes.end());
  }
  EXPECT_EQ(tails.size(), 1000U);
}

TEST(UuidSource, MakesIdsWhenTheClockIsBefore1970) {
  World world;
  world.clock.step_wall(-24h * 365 * 60);
  const Uuid first = world.source.next();
  EXPECT_EQ(time_of(first), Instant());
  EXPECT_LT(first, world.source.next());
}

RC_GTEST_PROP(UuidSource, MakesIncreasingIdsWhenTheClockStepsBack, ()) {
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-5000, 5000));
  World world;
  Uuid last = world.source.next();
  for (const int step : steps) {
    world.clock.step_wall(std::chrono::milliseconds(step));
    const Uuid next = world.source.next();
    RC_ASSERT(last < next);
    RC_ASSERT(*time_of(next) >= world.clock.wall_now());
    last = next;
  }
}

TEST(UuidSource, MakesDistinctIncreasingIdsForSeveralThreads) {
  World world;
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 3000;
  std::vector<std::vector<Uuid>> made(kThreads);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : made) {
      threads.emplace_back([&world, &mine] {
        for (std::size_t i = 0; i < kEach; ++i) {
          if (i % 100 == 0) world.clock.step_wall(i % 200 == 0 ? 2ms : -3ms);
          mine.push_back(world.source.next());
        }
      });
    }
  }
  // Compares the first halves only: the random second halves would differ anyway.
  std::set<std::vector<std::uint8_t>> heads;
  for (const auto& mine : made) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    for (const Uuid& uuid : mine) heads.emplace(uuid.bytes.begin(), uuid.bytes.begin() + 8);
  }
  EXPECT_EQ(heads.size(), kThreads * kEach);
}

}  // namespace
}  // namespace horae
