#include "store/queue_store.h"

#include <fmt/format.h>

#include "base/duration.h"

namespace horae {

Error too_many_queues(std::string_view queue, std::size_t max) {
  return {ErrorCode::kOverLimit,
          fmt::format("queue {}: cannot be made: there are {} queues already, as many as there may be (setting "
                      "queues.max); delete one: horae queue delete",
                      queue, max)};
}

Result<void> check_queue_change(const QueueChange& change) {
  if (change.ageing_rate) {
    if (auto checked = check_ageing_rate(*change.ageing_rate); !checked.ok()) return checked;
  }
  if (change.retention && (*change.retention < Duration::zero() || *change.retention > kMaxRetention)) {
    return Error{ErrorCode::kRefused, fmt::format("retention {}: give 0s to {}", format_duration(*change.retention),
                                                  format_duration(kMaxRetention))};
  }
  return {};
}

}  // namespace horae
