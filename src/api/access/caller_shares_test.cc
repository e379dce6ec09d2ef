#include "api/access/caller_shares.h"

#include <gtest/gtest.h>

namespace horae::testing {
namespace {

TEST(CallerShares, EachTokenHasOne) {
  CallerShares shares({});
  EXPECT_EQ(shares.of(""), nullptr);
  EXPECT_NE(shares.of("t-1"), nullptr);
  EXPECT_EQ(shares.of("t-1"), shares.of("t-1"));
  EXPECT_NE(shares.of("t-1"), shares.of("t-2"));
}

TEST(CallerShares, ForgetsOnlyThoseThatAreNotInUse) {
  CallerShares shares({}, 10);
  const auto used = shares.of("used");
  for (int i = 0; i < 100; ++i) (void)shares.of("t-" + std::to_string(i));
  EXPECT_LE(shares.size(), 11U);
  EXPECT_EQ(shares.of("used"), used);
}

}  // namespace
}  // namespace horae::testing
