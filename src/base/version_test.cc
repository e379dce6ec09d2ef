#include "base/version.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace horae {
namespace {

TEST(Version, HasThreeNumbers) {
  EXPECT_EQ(std::count(version().begin(), version().end(), '.'), 2);
  EXPECT_EQ(version().find_first_not_of("0123456789."), std::string_view::npos) << version();
}

}  // namespace
}  // namespace horae
