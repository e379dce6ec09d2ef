#include "base/check.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace horae {
namespace {

TEST(Check, DoesNothingWhenTheConditionHolds) {
  int evaluated = 0;
  HORAE_CHECK(++evaluated == 1, "counted once");
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, AbortsAndPrintsReasonConditionAndLocation) {
  const int low = 2;
  const int high = 1;
  EXPECT_EXIT(HORAE_CHECK(low <= high, "a range is never empty"), testing::KilledBySignal(SIGABRT),
              "this is a bug: a range is never empty \\(low <= high failed at .*check_test.cc:[0-9]+\\)");
}

TEST(CheckDeathTest, AcceptsAReasonBuiltAtRunTime) {
  const std::string why = "task " + std::to_string(7);
  EXPECT_DEATH(HORAE_CHECK(why.empty(), why), "task 7");
}

}  // namespace
}  // namespace horae
