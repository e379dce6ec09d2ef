#include "api/access/rate_limit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace horae {
namespace {

using namespace std::chrono_literals;

constexpr MonotonicTime kStart{1h};

TEST(RateLimit, AllowsABurstAndThenSaysHowLongToWait) {
  RateLimit limit({.per_second = 10, .burst = 3});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.take("a", kStart), std::nullopt);
  EXPECT_EQ(limit.take("a", kStart), 100ms);
  EXPECT_EQ(limit.take("a", kStart + 40ms), 60ms);
}

TEST(RateLimit, AllowsTheNextCallExactlyAfterTheWait) {
  RateLimit limit({.per_second = 10, .burst = 1});
  EXPECT_EQ(limit.take("a", kStart), std::nullopt);
  EXPECT_EQ(limit.take("a", kStart + 100ms - 1ns), 1ns);
  EXPECT_EQ(limit.take("a", kStart + 100ms), std::nullopt);
  EXPECT_EQ(limit.take("a", kStart + 100ms), 100ms);
}

TEST(RateLimit, RefusedCallsAreNotCounted) {
  RateLimit limit({.per_second = 1, .burst = 1});
  EXPECT_EQ(limit.take("a", kStart), std::nullopt);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limit.take("a", kStart), 1s);
  EXPECT_EQ(limit.take("a", kStart + 1s), std::nullopt);
}

TEST(RateLimit, ALookCountsNothing) {
  RateLimit limit({.per_second = 10, .burst = 1, .max_keys = 1});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(limit.look("a", kStart), std::nullopt);
  EXPECT_EQ(limit.take("a", kStart), std::nullopt);
  EXPECT_EQ(limit.look("a", kStart), 100ms);
  EXPECT_EQ(limit.look("b", kStart), std::nullopt);
  EXPECT_EQ(limit.look("a", kStart), 100ms) << "no other key took its place";
  EXPECT_EQ(limit.look("a", kStart + 100ms), std::nullopt);
}

TEST(RateLimit, APauseFillsTheBucketToItsSizeOnly) {
  RateLimit limit({.per_second = 10, .burst = 3});
  for (int i = 0; i < 3; ++i) (void)limit.take("a", kStart);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.take("a", kStart + 1h), std::nullopt);
  EXPECT_EQ(limit.take("a", kStart + 1h), 100ms);
}

TEST(RateLimit, KeysAreIndependent) {
  RateLimit limit({.per_second = 1, .burst = 1});
  EXPECT_EQ(limit.take("a", kStart), std::nullopt);
  EXPECT_EQ(limit.take("b", kStart), std::nullopt);
  EXPECT_NE(limit.take("a", kStart), std::nullopt);
}

TEST(RateLimit, DropsTheLeastRecentlyUsedKeyBeyondTheLimit) {
  RateLimit limit({.per_second = 1, .burst = 1, .max_keys = 2});
  EXPECT_EQ(limit.take("a", kStart), std::nullopt);
  EXPECT_EQ(limit.take("b", kStart), std::nullopt);
  EXPECT_NE(limit.take("a", kStart), std::nullopt);
  EXPECT_EQ(limit.take("c", kStart), std::nullopt);  // in the place of b
  EXPECT_NE(limit.take("a", kStart), std::nullopt);
  EXPECT_EQ(limit.take("b", kStart), std::nullopt);  // in the place of c
}

RC_GTEST_PROP(RateLimit, NoWindowHasMoreThanABurstAndItsShare, ()) {
  RateLimit limit({.per_second = 100, .burst = 5});
  const auto pauses = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 30));
  MonotonicTime now = kStart;
  std::vector<MonotonicTime> allowed;
  for (const int pause : pauses) {
    now += std::chrono::milliseconds(pause);
    if (!limit.take("a", now)) allowed.push_back(now);
  }
  for (std::size_t from = 0; from < allowed.size(); ++from) {
    for (std::size_t to = from; to < allowed.size(); ++to) {
      const auto share = (allowed[to] - allowed[from]) / 10ms;
      RC_ASSERT(static_cast<std::int64_t>(to - from + 1) <= 5 + share);
    }
  }
}

}  // namespace
}  // namespace horae
