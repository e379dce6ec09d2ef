#include "model/rank.h"

#include <fmt/format.h>

#include "base/mutant.h"

namespace horae {
namespace {

// The points that a task of this queue has gained by `second`, counted from a common beginning.
std::int64_t points_at(const Ageing& ageing, std::int64_t second) {
  return ageing.base + ageing.rate * (second - ageing.since);
}

}  // namespace

Result<void> check_ageing_rate(std::int64_t rate) {
  if (rate >= 0 && rate <= kMaxAgeingRate) return {};
  return Error{ErrorCode::kRefused,
               fmt::format("ageing rate {}: give 0 (strict priorities) to {} points a second", rate, kMaxAgeingRate)};
}

std::int64_t rank_of(const Ageing& ageing, std::int64_t ready_second, int priority) {
  if (HORAE_MUTANT("no_ageing")) return -priority;
  return points_at(ageing, ready_second) - priority;
}

Ageing with_rate(const Ageing& ageing, std::int64_t rate, std::int64_t now_second) {
  return {.base = points_at(ageing, now_second), .rate = rate, .since = now_second};
}

std::int64_t effective_priority(const Ageing& ageing, std::int64_t rank, std::int64_t now_second) {
  return points_at(ageing, now_second) - rank;
}

std::int64_t ageing_bound_seconds(std::int64_t rate, int priority) {
  HORAE_CHECK(rate > 0, "strict priorities have no bound");
  return (kMaxPriority - priority + rate - 1) / rate;
}

}  // namespace horae
