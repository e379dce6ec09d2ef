// The store as the parts of a node use it, and what observes it in every node.
#pragma once

#include <utility>

#include "observe/change_counts.h"
#include "observe/event_ring.h"
#include "observe/metrics.h"
#include "observe/observed_store.h"
#include "observe/peer_events.h"
#include "store/change.h"

namespace horae {

// Calls of store() are measured, and what they changed is reported, on the thread of each call, in this order: to the
// counters of metrics(), to the readers of events(), and to what was added. So a task is shown ready before something
// that was added claims it.
//
// Thread-safe, but for add(). The store, the clock, what the link refers to and what is added must outlive it.
class Observation {
 public:
  // Without a link the node has no peers.
  Observation(Store& store, const Clock& clock, PeerLink link = {})
      : peer_events_(events_, std::move(link)), store_(store, metrics_, clock, observers_) {
    observers_.add(counts_);
    observers_.add(peer_events_);
  }
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  // Before the first call of store().
  void add(ChangeObserver& observer) { observers_.add(observer); }

  ObservedStore& store() { return store_; }
  Metrics& metrics() { return metrics_; }
  EventRing& events() { return events_; }
  PeerEvents& peer_events() { return peer_events_; }

 private:
  Metrics metrics_;
  EventRing events_;
  ChangeCounts counts_{metrics_};
  PeerEvents peer_events_;
  ChangeObservers observers_;
  ObservedStore store_;
};

}  // namespace horae
