// PostgreSQL counts microseconds from the year 2000.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace horae::postgres {

inline constexpr Instant kEpoch{std::chrono::sys_days{std::chrono::year{2000} / 1 / 1}};

constexpr std::int64_t to_postgres(Instant time) { return (time - kEpoch).count(); }
constexpr Instant from_postgres(std::int64_t time) { return kEpoch + std::chrono::microseconds(time); }

// `delay` after an instant, to the next whole microsecond.
constexpr Instant after(Instant from, Duration delay) {
  return from + std::chrono::ceil<std::chrono::microseconds>(delay);
}

constexpr std::int64_t second_of(Instant time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

}  // namespace horae::postgres
