// Takes tasks away from silent owners, and only from those.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "engine/loop.h"
#include "store/cluster_store.h"
#include "store/task_store.h"

namespace horae {

struct MonitorOptions {
  Duration poll = std::chrono::seconds(1);  // while there are leases, and after the store has failed; at the longest
  Duration shortest_poll = kMinLease / 4;   // while there are short leases, or some end soon
  Duration idle_poll = poll;                // while there are none; longer if a ClusterPoller reports the first lease
  Duration largest_jump = std::chrono::seconds(1);  // of the store's clock against the node's
  std::size_t batch = kMaxBatch;
};

// Each pass stamps the store's time in the store, as long as there are leases. What was out of sight for too long (see
// ExpireWish) is extended before it may expire: there was an outage, and its owner could not send heartbeats. So passes
// are as frequent as the lease that ends first needs it; the next one comes within a quarter of what is left of it.
// When the clock jumped, all leases are extended.
//
// On a store so slow that passes are always late, only what is later than usual counts as an outage: otherwise a short
// lease would never expire there.
//
// run_once() from one thread at a time; on_tick() is thread-safe.
class Monitor final : public Loop {
 public:
  // The store must outlive the loop.
  Monitor(TaskStore& tasks, Logger log, MonitorOptions options = {})
      : tasks_(tasks), log_(std::move(log)), options_(options) {}

  std::string_view name() const override { return "monitor"; }
  MonotonicTime run_once(MonotonicTime now) override;

  // The poller read the store at `now` of the node's clock. True if this loop has to run: it sleeps, and there are
  // leases. A tick without leases counts as a pass, so that the first lease after a long sleep is not mistaken for the
  // end of an outage.
  bool on_tick(const Tick& tick, MonotonicTime now);

  // Before the node stops: from now on nothing expires here, because workers of this node cannot send heartbeats to it any
  // more. Other nodes go on; without one, the next start finds an outage. Thread-safe; cannot be undone.
  void drain() { is_draining_ = true; }

 private:
  // The two clocks at one moment, and whether anything was leased then.
  struct Reading {
    Instant store;
    MonotonicTime own;
    bool has_leases = false;
  };

  // What changed since the reading before.
  struct Change {
    bool has_jumped = false;
    bool begins = false;
  };

  Change note(const Reading& present);
  bool has_jumped(const Reading& present) const;   // with mutex_ held
  bool begins_with(const Reading& present) const;  // with mutex_ held
  MonotonicTime pass(MonotonicTime now, Duration slack);
  Duration note_delay(MonotonicTime now);  // the slack of this pass
  void extend(const Watch& seen, std::string_view why, LogLevel level);
  bool expire(const Watch& seen, Duration slack, bool begins);  // true if there is more to do at once

  TaskStore& tasks_;
  Logger log_;
  const MonitorOptions options_;
  std::atomic<bool> is_draining_ = false;
  std::mutex mutex_;
  std::optional<Reading> last_;  // guarded by mutex_; of the pass before, if the store answered
  bool is_asleep_ = false;       // guarded by mutex_; nothing was leased at the last pass

  // Used by run_once() only.
  static constexpr std::size_t kDelays = 4;
  bool has_failed_ = false;                 // a call of this pass
  std::optional<MonotonicTime> planned_;    // the next pass, unless the last one has failed
  std::array<Duration, kDelays> delays_{};  // of the last passes, against the plan
  std::size_t next_delay_ = 0;
};

}  // namespace horae
