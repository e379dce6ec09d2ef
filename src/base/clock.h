// Time as an interface, with a manual clock for tests. Only this file, the blocking queues and the composition root
// read the system's clock (tools/check_layers.py checks that).
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace horae {

// A length of time, up to 292 years.
using Duration = std::chrono::nanoseconds;

// A point on the calendar, in UTC, to the microsecond: what PostgreSQL keeps, and enough for the years 0 to 9999.
// Decisions about tasks use the store's instants only; a node's own are for logs and for making ids.
using Instant = std::chrono::sys_time<std::chrono::microseconds>;

// A point on a node's monotonic clock: for pacing, never stored, never compared across processes.
struct MonotonicClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock>;
  static constexpr bool is_steady = true;
};
using MonotonicTime = MonotonicClock::time_point;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant wall_now() const = 0;
  virtual MonotonicTime now() const = 0;
};

class SystemClock final : public Clock {
 public:
  Instant wall_now() const override;
  MonotonicTime now() const override;
};

// Moves only by advance() and step_wall(). Both readings start at a fixed, arbitrary point, so that tests are
// repeatable.
class ManualClock final : public Clock {
 public:
  ManualClock();

  Instant wall_now() const override;
  MonotonicTime now() const override;

  // Lets time pass: both readings move. `by` is not negative.
  void advance(Duration by);

  // Simulates an adjustment of the system's clock: only the wall reading moves, in either direction.
  void step_wall(Duration by);

 private:
  void move_wall(Duration by);  // with mutex_ held

  mutable std::mutex mutex_;
  Instant wall_;       // guarded by mutex_
  MonotonicTime now_;  // guarded by mutex_
  Duration rest_{};    // guarded by mutex_; the part of the moves below a microsecond, which wall_ cannot hold
};

}  // namespace horae
