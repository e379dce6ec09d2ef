#include "base/log_rate_limiter.h"

#include <gtest/gtest.h>

namespace horae {
namespace {

using namespace std::chrono_literals;

TEST(LogRateLimiter, LetsALimitedNumberPassPerSecondAndCountsTheSuppressed) {
  LogRateLimiter limiter(2);
  const MonotonicTime begin{};
  EXPECT_EQ(limiter.next(begin), 0U);
  EXPECT_EQ(limiter.next(begin), 0U);
  EXPECT_EQ(limiter.next(begin + 1ms), std::nullopt);
  EXPECT_EQ(limiter.next(begin + 999ms), std::nullopt);
  EXPECT_EQ(limiter.next(begin + 1s), 2U);
  EXPECT_EQ(limiter.next(begin + 1s), 0U);
  EXPECT_EQ(limiter.next(begin + 1s), std::nullopt);
}

}  // namespace
}  // namespace horae
