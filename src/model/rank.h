// Order among ready tasks: priority, with ageing, so that no task starves.
//
// A task gains `rate` points of priority for each second that it is ready. All tasks of a queue gain alike, so their
// order never changes with time, and a number given once, the rank, decides it.
#pragma once

#include <compare>
#include <cstdint>

#include "base/result.h"

namespace horae {

inline constexpr int kMinPriority = 0;
inline constexpr int kMaxPriority = 255;  // the most urgent
inline constexpr int kDefaultPriority = 50;

// SHIELD's levels are inverted: level 0 comes first.
constexpr int level_of(int priority) { return kMaxPriority - priority; }

inline constexpr std::int64_t kDefaultAgeingRate = 1;
inline constexpr std::int64_t kMaxAgeingRate = 1'000'000;

// How fast the tasks of one queue age. `since` is the second of the store's clock at which `rate` began to hold, `base`
// what a task of priority 0 that becomes ready in that second gets as its rank.
struct Ageing {
  std::int64_t base = 0;
  std::int64_t rate = kDefaultAgeingRate;  // points for each second; 0 means strict priorities, which may starve
  std::int64_t since = 0;

  friend bool operator==(const Ageing&, const Ageing&) = default;
};

// Checks a rate from outside: 0 to kMaxAgeingRate.
Result<void> check_ageing_rate(std::int64_t rate);

// The rank of a task that becomes ready in `ready_second`. Lower comes first.
std::int64_t rank_of(const Ageing& ageing, std::int64_t ready_second, int priority);

// The same ageing with another rate from `now_second` on. Ranks already given stay valid: nothing is rewritten.
Ageing with_rate(const Ageing& ageing, std::int64_t rate, std::int64_t now_second);

// What a task of that rank counts at `now_second`, in points of priority: how the heads of several queues are compared.
std::int64_t effective_priority(const Ageing& ageing, std::int64_t rank, std::int64_t now_second);

// After this many seconds ready, nothing that becomes ready later in the queue is claimed before the task, as long as
// the rate does not fall. `rate` is above 0.
std::int64_t ageing_bound_seconds(std::int64_t rate, int priority);

// The total order in which the ready tasks of one queue are claimed.
struct ReadyOrder {
  std::int64_t rank = 0;
  std::int64_t ready_second = 0;
  std::int64_t number = 0;

  friend auto operator<=>(const ReadyOrder&, const ReadyOrder&) = default;
};

}  // namespace horae
