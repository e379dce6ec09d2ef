#include "store/queue_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace horae {
namespace {

using std::chrono_literals::operator""ns;

std::string refusal(const QueueChange& change) {
  const auto checked = check_queue_change(change);
  if (checked.ok()) return "";
  EXPECT_EQ(checked.error().code, ErrorCode::kRefused);
  return checked.error().message;
}

TEST(QueueChange, MayLeaveOutEverything) { EXPECT_TRUE(check_queue_change({}).ok()); }

TEST(QueueChange, RetentionIsZeroToTenYears) {
  EXPECT_EQ(refusal({.retention = Duration::zero()}), "");
  EXPECT_EQ(refusal({.retention = kMaxRetention}), "");
  EXPECT_EQ(refusal({.retention = -1ns}), "retention -1ns: give 0s to 87840h");
  EXPECT_EQ(refusal({.retention = kMaxRetention + 1ns}), "retention 87840h0.000000001s: give 0s to 87840h");
}

TEST(QueueChange, AgeingRateIsThatOfTheModel) {
  EXPECT_EQ(refusal({.ageing_rate = 0}), "");
  EXPECT_EQ(refusal({.ageing_rate = kMaxAgeingRate}), "");
  EXPECT_EQ(refusal({.ageing_rate = -1}), check_ageing_rate(-1).error().message);
  EXPECT_EQ(refusal({.ageing_rate = kMaxAgeingRate + 1}), check_ageing_rate(kMaxAgeingRate + 1).error().message);
}

TEST(QueueChange, EachPartIsCheckedBesideTheOthers) {
  EXPECT_EQ(refusal({.paused = true, .ageing_rate = 5, .retention = kDefaultRetention}), "");
  EXPECT_EQ(refusal({.paused = true, .ageing_rate = 5, .retention = -1ns}), "retention -1ns: give 0s to 87840h");
}

}  // namespace
}  // namespace horae
