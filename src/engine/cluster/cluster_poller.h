// Polls the store once a second, with one query, for everything that other nodes did, and wakes the loops with work.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "engine/loop.h"
#include "store/cluster_store.h"

namespace horae {

struct ClusterPollerOptions {
  Duration poll = std::chrono::seconds(1);
  Duration poll_deaf = std::chrono::milliseconds(100);  // while messages of other nodes do not arrive
};

// What the poller reads and wakes; all are called on the thread of run_once().
struct ClusterPollerSignals {
  std::function<std::vector<std::string>()> awaited;           // queues for which a worker waits at this node
  std::function<bool()> is_deaf = [] { return false; };        // messages of other nodes do not arrive
  std::function<void()> due;                                   // a task is due, or will be before the next poll
  std::function<void(const std::vector<std::string>&)> ready;  // open queues with ready tasks, of those awaited
  std::function<void(const Tick&, MonotonicTime)> ticked = [](const Tick&, MonotonicTime) {};  // the whole answer
};

// The poll also announces that the node is alive. It does not tell the work of other nodes from that of this one: a
// loop that is woken without need costs one query.
//
// run_once() from one thread at a time; everything else is thread-safe.
class ClusterPoller final : public Loop {
 public:
  // The store must outlive the loop.
  ClusterPoller(ClusterStore& cluster, Logger log, NodeRecord self, ClusterPollerSignals signals,
                ClusterPollerOptions options = {});

  // The address of the node, and whether it has readers of events: announced with the next poll.
  void set_address(std::string address);
  void set_wants_events(bool wants_events);

  std::string_view name() const override { return "poller"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  TickWish wish();

  ClusterStore& cluster_;
  Logger log_;
  const ClusterPollerSignals signals_;
  const ClusterPollerOptions options_;

  std::mutex mutex_;
  NodeRecord self_;            // guarded by mutex_
  bool wants_events_ = false;  // guarded by mutex_
};

}  // namespace horae
