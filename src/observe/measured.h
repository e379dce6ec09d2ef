// How calls of a store are counted and timed. Private to the folder.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/clock.h"
#include "observe/metrics.h"

namespace horae {

// What a measured store needs; both outlive it.
struct Meter {
  Metrics& metrics;
  const Clock& clock;

  // The result of `call`, which is noted under the name of the operation. `items`: of a batch; 0 if it is none.
  template <typename Call>
  auto measured(std::string_view operation, std::size_t items, const Call& call) const -> decltype(call()) {
    const MonotonicTime begun = clock.now();
    auto result = call();
    metrics.observe_store_call(operation, result.ok(), items, clock.now() - begun);
    return result;
  }
};

}  // namespace horae
