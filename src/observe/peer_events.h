// Brings the events of this node to readers here and at other nodes, and those of other nodes to readers here.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "observe/event_ring.h"
#include "store/change.h"
#include "store/cluster_store.h"

namespace horae {

// The way to the other nodes. Not used before the first tick or the first reader. The defaults are those of a node
// without peers.
struct PeerLink {
  std::function<void(std::string)> send = [](const std::string&) {};  // an event; Engine::send_event()
  std::function<void()> send_loss = [] {};                            // some were not sent; Engine::send_event_loss()
  std::function<void(bool)> set_wants_events = [](bool) {};           // other nodes learn it with a tick
  std::function<bool()> is_deaf = [] { return false; };               // messages of other nodes do not arrive
};

// Thread-safe.
class PeerEvents final : public ChangeObserver {
 public:
  // The ring must have no reader yet. The ring and what the link refers to must outlive this.
  PeerEvents(EventRing& ring, PeerLink link);

  // This node changed something.
  void on_changes(std::span<const Change> changes) override;

  // Events of another node; `lost`: some are missing.
  void receive(const std::vector<std::string>& events, bool lost);

  // Once a second, or more often: learns whether other nodes want events, and announces whether this one does. A node
  // that learns that peers want events sends them a loss at once: only it knows since when they missed its events.
  // While this node is deaf, a loss is reported to its readers once a second.
  void on_tick(const Tick& tick);

 private:
  void on_first_reader();

  // With mutex_ held.
  void set_wants(bool wants);
  bool is_time_to_report_loss(Instant now);

  EventRing& ring_;
  const PeerLink link_;
  std::atomic<bool> peers_want_events_ = false;

  std::mutex mutex_;
  bool wants_events_ = false;         // guarded by mutex_
  std::optional<Instant> last_loss_;  // guarded by mutex_; the store's clock
};

}  // namespace horae
