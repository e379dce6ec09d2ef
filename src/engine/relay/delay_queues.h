// The delay queues that a node is configured for, as the API sees them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/relay/relay_status.h"

namespace horae {

// Thread-safe.
class DelayQueues {
 public:
  virtual ~DelayQueues() = default;

  virtual std::vector<RelayStatus> status() const = 0;
  virtual std::optional<RelayStatus> status(std::string_view queue) const = 0;  // nothing: there is no such queue here

  // Messages were put into this queue, or moved: they may be due at once.
  virtual void on_put(std::string_view queue) = 0;
};

}  // namespace horae
