#include "model/retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace horae {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""h;
using ::testing::HasSubstr;

constexpr RetryPolicy kFixed{.kind = RetryPolicy::Kind::kFixed, .delay = 3s};
constexpr RetryPolicy kExponential{.kind = RetryPolicy::Kind::kExponential, .delay = 1s, .factor = 2.0, .cap = 60s};

TEST(Retry, ByDefaultAnAbortIsFinal) { EXPECT_EQ(retry_delay(RetryPolicy{}, 1, 0, 0.5), std::nullopt); }

TEST(Retry, FixedWaitsTheSameEachTime) {
  EXPECT_EQ(retry_delay(kFixed, 1, 0, 0.0), 3s);
  EXPECT_EQ(retry_delay(kFixed, 1000, 0, 0.9), 3s);
}

TEST(Retry, ExponentialGrowsUpToTheCap) {
  EXPECT_EQ(retry_delay(kExponential, 1, 0, 0.0), 1s);
  EXPECT_EQ(retry_delay(kExponential, 2, 0, 0.0), 2s);
  EXPECT_EQ(retry_delay(kExponential, 6, 0, 0.0), 32s);
  EXPECT_EQ(retry_delay(kExponential, 7, 0, 0.0), 60s);
  EXPECT_EQ(retry_delay(kExponential, std::numeric_limits<int>::max(), 0, 0.0), 60s);
}

TEST(Retry, GivesUpWhenTheTriesAreUsedUp) {
  EXPECT_EQ(retry_delay(kFixed, 2, 3, 0.0), 3s);
  EXPECT_EQ(retry_delay(kFixed, 3, 3, 0.0), std::nullopt);
  EXPECT_EQ(retry_delay(kFixed, 4, 3, 0.0), std::nullopt);
  EXPECT_EQ(retry_delay(kFixed, 1, 1, 0.0), std::nullopt);
}

TEST(Retry, JitterOnlyShortens) {
  RetryPolicy policy = kFixed;
  policy.jitter = 0.5;
  EXPECT_EQ(retry_delay(policy, 1, 0, 0.0), 3s);
  EXPECT_EQ(retry_delay(policy, 1, 0, 0.5), 2250ms);
}

TEST(Retry, APolicyFromOutsideIsChecked) {
  const auto message = [](RetryPolicy policy) { return check_retry_policy(policy).error().message; };
  EXPECT_TRUE(check_retry_policy(kExponential).ok());
  EXPECT_THAT(message({.delay = -1s}), HasSubstr("delay -1s is negative"));
  EXPECT_THAT(message({.cap = -1s}), HasSubstr("cap -1s is negative"));
  EXPECT_THAT(message({.factor = 0.5}), HasSubstr("factor 0.5: give 1 to 100"));
  EXPECT_THAT(message({.factor = std::numeric_limits<double>::quiet_NaN()}), HasSubstr("factor nan"));
  EXPECT_THAT(message({.jitter = 1.5}), HasSubstr("jitter 1.5: give 0 to 1"));
}

RC_GTEST_PROP(Retry, TheDelayIsWithinItsJitterAndNeverAboveTheCap, ()) {
  RetryPolicy policy;
  policy.kind = *rc::gen::element(RetryPolicy::Kind::kFixed, RetryPolicy::Kind::kExponential);
  policy.delay = Duration(*rc::gen::inRange<Duration::rep>(0, Duration(24h).count()));
  policy.cap = Duration(*rc::gen::inRange<Duration::rep>(0, Duration(48h).count()));
  policy.factor = 1.0 + *rc::gen::inRange(0, 9900) / 100.0;
  policy.jitter = *rc::gen::inRange(0, 101) / 100.0;
  const int tries = *rc::gen::inRange(1, 1000);
  const double chance = *rc::gen::inRange(0, 1'000'000) / 1e6;

  RetryPolicy plain = policy;
  plain.jitter = 0.0;
  const auto longest = retry_delay(plain, tries, 0, 0.0).value();
  const auto delay = retry_delay(policy, tries, 0, chance).value();
  RC_ASSERT(longest <= policy.cap);
  RC_ASSERT(delay <= longest);
  RC_ASSERT(static_cast<double>(delay.count()) >= static_cast<double>(longest.count()) * (1.0 - policy.jitter) - 1.0);
  RC_ASSERT(delay >= Duration::zero());
}

}  // namespace
}  // namespace horae
