#include "engine/promoter.h"

#include <algorithm>

namespace horae {

MonotonicTime Promoter::run_once(MonotonicTime now) {
  const auto outcome = tasks_.promote_due(options_.batch);
  if (!outcome.ok()) {
    log_.warn("cannot promote due tasks", {{"reason", outcome.error().message}});
    return now + options_.poll;
  }
  if (!outcome->queues.empty()) on_ready_(outcome->queues);
  return now + std::min(options_.poll, outcome->next_in.value_or(options_.poll));
}

}  // namespace horae
