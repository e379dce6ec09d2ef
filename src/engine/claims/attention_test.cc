#include "engine/claims/attention.h"

#include <gtest/gtest.h>

namespace horae {
namespace {

using namespace std::chrono_literals;

constexpr MonotonicTime kBegin{1h};

TEST(Attention, IsGivenOnceToItsOwner) {
  Attention attention;
  attention.keep("worker-1");
  attention.keep("worker-1");
  EXPECT_FALSE(attention.take("worker-2"));
  EXPECT_TRUE(attention.take("worker-1"));
  EXPECT_FALSE(attention.take("worker-1"));
  EXPECT_TRUE(attention.empty());
}

TEST(Attention, IsKeptForAMinute) {
  Attention attention;
  attention.drop_old(kBegin);
  attention.keep("worker-1");
  attention.drop_old(kBegin + 10s);
  attention.keep("worker-2");
  attention.drop_old(kBegin + 10s + kAttentionIsKept - 1ms);
  attention.drop_old(kBegin + 10s + kAttentionIsKept);
  EXPECT_FALSE(attention.take("worker-1"));
  EXPECT_TRUE(attention.take("worker-2"));
}

TEST(Attention, OfTooManyOwnersDropsTheOldest) {
  Attention attention;
  for (std::size_t i = 0; i <= kMaxAttention; ++i) attention.keep(std::to_string(i));
  EXPECT_FALSE(attention.take("0"));
  EXPECT_TRUE(attention.take("1"));
  EXPECT_TRUE(attention.take(std::to_string(kMaxAttention)));
}

}  // namespace
}  // namespace horae
