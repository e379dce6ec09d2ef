#include "engine/retention.h"

#include <utility>

namespace horae {

MonotonicTime Retention::run_once(MonotonicTime now) {
  const auto outcome = tasks_.purge(options_.batch);
  if (!outcome.ok()) {
    log_.warn("cannot purge finished tasks", {{"reason", outcome.error().message}});
    return now + options_.interval;
  }
  purged_ += outcome->purged;
  if (outcome->more) return now + options_.breath;
  if (const std::size_t purged = std::exchange(purged_, 0); purged > 0) {
    log_.info("purged finished tasks", {{"count", purged}});
    on_purged_(purged);
  }
  return now + options_.interval;
}

}  // namespace horae
