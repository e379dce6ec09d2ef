// Events of this node go to those who read them here and at other nodes, and theirs come here.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "http/event_ring.h"
#include "store/cluster_store.h"

namespace horae {

// Threads: every member may be called from any thread at once.
class ExchangeOfHints {
 public:
  // Both must outlive it; the engine is asked for nothing before the first tick.
  ExchangeOfHints(EventRing& ring, Engine& engine) : ring_(ring), engine_(engine) {}

  // Something happened here.
  void tell(std::span<const Hint> hints);

  // Something happened elsewhere.
  void hear(const std::vector<std::string>& hints, bool lost);

  // Once a second: whether others want hints, and whether we do. Others know that we do a tick after we said so; what
  // they did until then is missing, and so is all that a node does which cannot be heard.
  void on_tick(const Tick& tick);

 private:
  EventRing& ring_;
  Engine& engine_;
  std::atomic<bool> others_want_them_ = false;
  bool wants_them_ = false;    // used by on_tick() only
  int ticks_until_heard_ = 0;  // used by on_tick() only
};

}  // namespace horae
