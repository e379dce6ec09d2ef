// Takes tasks away from silent owners, and only from those.
#pragma once

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
  Duration poll = std::chrono::seconds(1);  // while there are leases, and after the store has failed
  Duration idle_poll = poll;                // while there are none; longer if a ClusterPoller reports the first lease
  Duration silence =
      kDefaultLease / 3;  // without a monitor's pass for longer, silence is an outage and not the workers' fault
  Duration largest_jump = std::chrono::seconds(1);  // of the store's clock against the node's
  std::size_t batch = kMaxBatch;
};

// Each pass stamps the store's time in the store, as long as there are leases. After an outage, which is a stamp that
// is too old or a clock that jumped, all leases are extended before any may expire: their owners could not send
// heartbeats, or the clock is wrong.
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
  void extend(const Watch& seen, std::string_view why, LogLevel level);
  bool expire(const Watch& seen);  // true if there is more to do at once

  TaskStore& tasks_;
  Logger log_;
  const MonitorOptions options_;
  std::mutex mutex_;
  std::optional<Reading> last_;  // guarded by mutex_; of the pass before, if the store answered
  bool is_asleep_ = false;       // guarded by mutex_; nothing was leased at the last pass
};

}  // namespace horae
