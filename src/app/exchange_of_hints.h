// Events of this node go to those who read them here and at other nodes, and theirs come here.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "observe/event_ring.h"
#include "store/cluster_store.h"

namespace horae {

// The engine, as far as it is asked here; nothing is, before the first tick or the first reader.
struct HintWays {
  std::function<void(std::string)> tell_others;  // Engine::hint()
  std::function<void()> tell_of_losses;          // Engine::hints_lost()
  std::function<void(bool)> set_wants_hints;     // the others know it a tick later
  std::function<bool()> is_deaf;                 // what the others tell does not arrive
};

// Threads: every member may be called from any thread at once.
class ExchangeOfHints {
 public:
  // The ring, which has no reader yet, must outlive it, and those behind the ways, too.
  ExchangeOfHints(EventRing& ring, HintWays ways);

  // Something happened here.
  void tell(std::span<const Hint> hints);

  // Something happened elsewhere.
  void hear(const std::vector<std::string>& hints, bool lost);

  // Once a second, or more often: whether others want hints, and whether we do. Readers look again (EventRing::lose())
  // where something is missing. Whoever learns that others want hints tells them that it had none for them until now:
  // only it knows when that was. A node that cannot hear the others says once a second that all is missing.
  void on_tick(const Tick& tick);

 private:
  void on_first_reader();

  // With mutex_ held.
  void set_wants(bool wants);
  bool is_time_to_say_so(Instant now);

  EventRing& ring_;
  const HintWays ways_;
  std::atomic<bool> others_want_them_ = false;

  std::mutex mutex_;
  bool wants_them_ = false;           // guarded by mutex_
  std::optional<Instant> last_lost_;  // guarded by mutex_; the store's clock
};

}  // namespace horae
