#include "store/queue_store.h"

#include <fmt/format.h>

#include "base/duration.h"

namespace horae {

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
