#include "base/clock.h"

#include "base/check.h"

namespace horae {
namespace {

using std::chrono::floor;
using std::chrono::microseconds;

}  // namespace

Instant SystemClock::wall_now() const { return floor<microseconds>(std::chrono::system_clock::now()); }

MonotonicTime SystemClock::now() const {
  return MonotonicTime(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

ManualClock::ManualClock()
    : wall_(std::chrono::sys_days(std::chrono::year(2026) / 11 / 16)), now_(std::chrono::hours(1)) {}

Instant ManualClock::wall_now() const {
  const std::lock_guard lock(mutex_);
  return wall_;
}

MonotonicTime ManualClock::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void ManualClock::advance(Duration by) {
  HORAE_CHECK(by >= Duration::zero(), "time does not run backwards; step_wall() sets the clock back");
  const std::lock_guard lock(mutex_);
  now_ += by;
  move_wall(by);
}

void ManualClock::step_wall(Duration by) {
  const std::lock_guard lock(mutex_);
  move_wall(by);
}

void ManualClock::move_wall(Duration by) {
  const Duration total = rest_ + by;
  const auto whole = floor<microseconds>(total);
  wall_ += whole;
  rest_ = total - whole;
}

}  // namespace horae
