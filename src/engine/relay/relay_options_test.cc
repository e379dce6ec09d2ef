#include "engine/relay/relay_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RelayOptions, TheDefaultsAreThoseOfTheChronosDocument) {
  const RelayOptions options;
  EXPECT_THAT(faults_of(options), IsEmpty());
  EXPECT_EQ(options.timing_advance, 50ms);
  EXPECT_EQ(options.hold_time, 5s);
  EXPECT_EQ(options.poll_interval, 100ms);
  EXPECT_EQ(options.failure_detection_interval, 500ms);
}

TEST(RelayOptions, AllFaultsAreReportedAtOnce) {
  RelayOptions options{.queue = "orders", .timing_advance = 1s, .hold_time = 1999ms, .horizon = 2s};
  options.headers.id = options.headers.deadline;
  EXPECT_THAT(faults_of(options), ElementsAre(HasSubstr("delay queue orders: timing_advance is 1s: give 0s to 200ms"),
                                              HasSubstr("hold_time is 1.999s: give 2s"), HasSubstr("horizon is 2s"),
                                              HasSubstr("different names")));
}

}  // namespace
}  // namespace horae
