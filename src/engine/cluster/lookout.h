// Looks out for what other nodes did, once a second and with one query, and wakes those whom it concerns.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "engine/loop.h"
#include "store/cluster_store.h"

namespace horae {

struct LookoutOptions {
  Duration poll = std::chrono::seconds(1);
  Duration poll_deaf = std::chrono::milliseconds(100);  // while the node cannot hear the others
};

// Whom it asks and whom it wakes; all are called on the thread of run_once().
struct LookoutSignals {
  std::function<std::vector<std::string>()> awaited;           // queues that somebody waits for here
  std::function<bool()> is_deaf = [] { return false; };        // other nodes are there to be heard, and are not
  std::function<void()> due;                                   // a task is due, or will be before the next look
  std::function<void(const std::vector<std::string>&)> ready;  // open queues with ready tasks, of those awaited
  std::function<void(const Tick&, MonotonicTime)> ticked = [](const Tick&, MonotonicTime) {};  // all that it found
};

// It is also how a node says that it is there. What it finds need not be the work of others: whoever is woken without
// need looks once in vain.
//
// Threads: run_once() one at a time; all else from any thread at once.
class Lookout final : public Loop {
 public:
  // The store must outlive the loop.
  Lookout(ClusterStore& cluster, Logger log, NodeRecord self, LookoutSignals signals, LookoutOptions options = {});

  // Where the node answers, and whether somebody reads events there: the next look tells the others.
  void set_address(std::string address);
  void set_wants_hints(bool wants_hints);

  std::string_view name() const override { return "lookout"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  TickWish wish();

  ClusterStore& cluster_;
  Logger log_;
  const LookoutSignals signals_;
  const LookoutOptions options_;

  std::mutex mutex_;
  NodeRecord self_;           // guarded by mutex_
  bool wants_hints_ = false;  // guarded by mutex_
};

}  // namespace horae
