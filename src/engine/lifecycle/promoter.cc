#include "engine/lifecycle/promoter.h"

#include <algorithm>

#include "base/mutant.h"

namespace horae {

MonotonicTime Promoter::run_once(MonotonicTime now) {
  const auto outcome = tasks_.promote_due(options_.batch);
  if (!outcome.ok()) {
    log_.warn("cannot promote due tasks", {{"reason", outcome.error().message}});
    return now + options_.retry;
  }
  if (HORAE_MUTANT("uncapped_sleep")) return now + outcome->next_in.value_or(std::chrono::hours(10'000));
  return now + std::min(options_.poll, outcome->next_in.value_or(options_.poll));
}

}  // namespace horae
