// Time as an interface with a manual twin. Nothing outside this file, the queues that wait and the composition root
// asks the system for the time (tools/check_layers.py holds us to it).
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace horae {

// A length of time. 292 years fit.
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

// Threads: every member may be called from any thread at once.
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

// Stands still until told. Both readings start at a fixed, arbitrary point, so that tests are repeatable.
class ManualClock final : public Clock {
 public:
  ManualClock();

  Instant wall_now() const override;
  MonotonicTime now() const override;

  // Lets time pass: both readings move. `by` is not negative.
  void advance(Duration by);

  // Somebody sets the clock: only the wall reading moves, in either direction.
  void step_wall(Duration by);

 private:
  void move_wall(Duration by);  // with mutex_ held

  mutable std::mutex mutex_;
  Instant wall_;       // guarded by mutex_
  MonotonicTime now_;  // guarded by mutex_
  Duration rest_{};    // guarded by mutex_; what the wall reading moved beyond whole microseconds of wall_
};

}  // namespace horae
