#include "engine/relay/relay_options.h"

#include <fmt/format.h>

#include "base/duration.h"
#include "engine/relay/timing_advance.h"

namespace horae {
namespace {

constexpr Duration kShortestInterval = std::chrono::milliseconds(10);
constexpr Duration kLongestInterval = std::chrono::minutes(1);

}  // namespace

std::vector<std::string> faults_of(const RelayOptions& options) {
  std::vector<std::string> faults;
  const auto expect = [&](bool good, std::string fault) {
    if (!good) faults.push_back(fmt::format("delay queue {}: {}", options.queue, fault));
  };
  const auto expect_within = [&](std::string_view name, Duration value, Duration shortest, Duration longest) {
    expect(value >= shortest && value <= longest, fmt::format("{} is {}: give {} to {}", name, format_duration(value),
                                                              format_duration(shortest), format_duration(longest)));
  };
  if (options.timing_advance) expect_within("timing_advance", *options.timing_advance, {}, kMostAdvance);
  expect_within("hold_time", options.hold_time, kShortestHold, std::chrono::hours(1));
  expect_within("poll_interval", options.poll_interval, kShortestInterval, kLongestInterval);
  expect_within("failure_detection_interval", options.failure_detection_interval, kShortestInterval, options.hold_time);
  expect_within("horizon", options.horizon, {}, kLongestHorizon);
  expect(!options.headers.id.empty() && !options.headers.deadline.empty(), "give both headers a name");
  expect(options.headers.id != options.headers.deadline, "give the two headers different names");
  return faults;
}

}  // namespace horae
