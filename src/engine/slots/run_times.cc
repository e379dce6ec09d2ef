#include "engine/slots/run_times.h"

#include <algorithm>
#include <limits>

namespace horae {
namespace {

constexpr int kFading = 8;  // each shorter run takes an eighth of the difference off
constexpr Duration kShortest = std::chrono::microseconds(1);

}  // namespace

void RunTimes::add(Duration took) {
  const Duration run = std::max(took, Duration::zero());
  expected_ = run >= expected_ ? run : expected_ - (expected_ - run) / kFading;
}

std::size_t RunTimes::starts_within(Duration time, std::size_t slots) const {
  const auto turns = static_cast<std::size_t>(std::max(time, Duration::zero()) / std::max(expected_, kShortest));
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  return slots > 0 && turns > most / slots ? most : turns * slots;
}

}  // namespace horae
