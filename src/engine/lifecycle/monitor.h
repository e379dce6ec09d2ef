// Takes tasks away from owners that are silent, and from nobody else.
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
  Duration idle_poll = poll;                // while there are none; longer if a ClusterPoller says when that ends
  Duration silence = kDefaultLease / 3;     // nobody looked for longer: an outage, not the workers' fault
  Duration largest_jump = std::chrono::seconds(1);  // of the store's clock against ours
  std::size_t batch = kMaxBatch;
};

// Each pass stamps the store's time in the store, as long as there are leases. After an outage, which is a stamp that
// is too old or a clock that jumped, all leases are extended before any may expire: their owners could not beat, or the
// clock lies. See DESIGN section 2.
//
// Threads: run_once() one at a time; on_tick() from any.
class Monitor final : public Loop {
 public:
  // The store must outlive the loop.
  Monitor(TaskStore& tasks, Logger log, MonitorOptions options = {})
      : tasks_(tasks), log_(std::move(log)), options_(options) {}

  std::string_view name() const override { return "monitor"; }
  MonotonicTime run_once(MonotonicTime now) override;

  // Somebody else looked at the same store when the node's clock showed `now`. True if this loop has to run: it sleeps,
  // and there are leases. That there are none counts as a look of its own, so that the first lease after a long sleep
  // is not taken for the end of an outage.
  bool on_tick(const Tick& tick, MonotonicTime now);

 private:
  // The two clocks at one moment, and whether anything was leased then.
  struct Reading {
    Instant store;
    MonotonicTime own;
    bool has_leases = false;
  };

  // How a look stands to the one before.
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
  std::optional<Reading> last_;  // guarded by mutex_; of the look before, if the store answered then
  bool is_asleep_ = false;       // guarded by mutex_; nothing was leased at the last pass
};

}  // namespace horae
