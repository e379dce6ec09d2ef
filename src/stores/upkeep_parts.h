// What the stores share about time left.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace horae {

// From one instant to another, cut to what a Duration holds (292 years).
constexpr Duration distance(Instant from, Instant to) {
  constexpr auto kMost = std::chrono::duration_cast<std::chrono::microseconds>(Duration::max());
  return std::clamp(to - from, -kMost, kMost);
}

// How long from now until then, not below zero; nothing where there is no then.
constexpr std::optional<Duration> time_left(std::optional<Instant> then, Instant now) {
  if (!then) return std::nullopt;
  return std::max(distance(now, *then), Duration::zero());
}

}  // namespace horae
