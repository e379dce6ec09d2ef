#include "app/file_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace horae {
namespace {

TEST(FileLimit, IsRaisedAsFarAsTheSystemAllows) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_file_limit(), before.rlim_max);
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(FileLimit, LeavesFilesForTheRestOfANode) {
  EXPECT_EQ(connections_within(20'000), 19'488U);
  EXPECT_EQ(connections_within(1'024), 512U);
  EXPECT_EQ(connections_within(64), 32U);
  EXPECT_EQ(connections_within(0), 1U);
}

}  // namespace
}  // namespace horae
