// PostgreSQL counts microseconds from the year 2000.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace horae::postgres {

inline constexpr Instant kEpoch{std::chrono::sys_days{std::chrono::year{2000} / 1 / 1}};

constexpr std::int64_t to_postgres(Instant time) { return (time - kEpoch).count(); }
constexpr Instant from_postgres(std::int64_t time) { return kEpoch + std::chrono::microseconds(time); }

// From one instant to another, cut to what a Duration holds (292 years).
constexpr Duration distance(Instant from, Instant to) {
  constexpr auto kMost = std::chrono::duration_cast<std::chrono::microseconds>(Duration::max());
  const auto between = to - from;
  return between > kMost ? Duration(kMost) : between < -kMost ? Duration(-kMost) : Duration(between);
}

// `delay` after an instant, to the next whole microsecond.
constexpr Instant after(Instant from, Duration delay) {
  return from + std::chrono::ceil<std::chrono::microseconds>(delay);
}

constexpr std::int64_t second_of(Instant time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

}  // namespace horae::postgres
