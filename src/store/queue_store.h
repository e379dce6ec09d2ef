// Queues with their settings and counts, the switch of the scheduler, and worker ids.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/rank.h"

namespace horae {

inline constexpr Duration kDefaultRetention = std::chrono::hours(24 * 7);
inline constexpr Duration kMaxRetention = std::chrono::hours(24 * 366 * 10);

struct QueueSettings {
  bool paused = false;
  std::int64_t ageing_rate = kDefaultAgeingRate;
  Duration retention = kDefaultRetention;

  friend bool operator==(const QueueSettings&, const QueueSettings&) = default;
};

// What to change; what is absent stays.
struct QueueChange {
  std::optional<bool> paused;
  std::optional<std::int64_t> ageing_rate;
  std::optional<Duration> retention;
};

struct QueueInfo {
  std::string name;
  QueueSettings settings;
  std::int64_t scheduled = 0;
  std::int64_t ready = 0;
  std::int64_t running = 0;
  std::int64_t completed = 0;
  std::int64_t aborted = 0;
  std::int64_t cancelled = 0;
  std::optional<Duration> oldest_ready;  // how long the longest ready task has been ready, to the second

  friend bool operator==(const QueueInfo&, const QueueInfo&) = default;
};

// A queue that was never configured and holds no task is forgotten when it is this old: TaskStore::purge().
inline constexpr Duration kQueueMemory = std::chrono::hours(1);

struct QueueRemoval {
  enum class Kind {
    kRemoved,   // the queue is gone
    kPurging,   // nothing in it waits or runs, but there may be finished tasks left: call again
    kHasTasks,  // a task in it is scheduled, ready or running: nothing was done
    kNotFound,
  };
  Kind kind = Kind::kNotFound;
  std::size_t purged = 0;  // finished tasks that this call removed

  friend bool operator==(const QueueRemoval&, const QueueRemoval&) = default;
};

struct QueueList {
  std::vector<QueueInfo> queues;  // by name
  Instant as_of;                  // the counts of finished tasks may be this old
};

// What configure() says when it refuses to make a queue.
Error too_many_queues(std::string_view queue, std::size_t max);

// kRefused for a rate or a retention out of range.
Result<void> check_queue_change(const QueueChange& change);

// Thread safety, durability and time: as in TaskStore.
class QueueStore {
 public:
  virtual ~QueueStore() = default;

  // All queues that exist: a task was submitted to them, or they were configured, and they have not ended since.
  virtual Result<QueueList> queues() = 0;

  // Changes the settings of a queue and answers with the new ones. A queue that is new is made; kOverLimit if there are
  // as many as there may be. Such a queue is never forgotten. A changed ageing rate leaves the ranks that were given valid (see model/rank.h).
  virtual Result<QueueSettings> configure(std::string_view queue, const QueueChange& change) = 0;

  // Ends a queue in which no task waits or runs: first its finished tasks go, up to `max` with each call, whatever their
  // retention, and then the queue with its settings. Repeat it until it answers kRemoved. A task that is submitted
  // meanwhile is never lost: either the queue stays, or the submission makes it again.
  virtual Result<QueueRemoval> remove(std::string_view queue, std::size_t max) = 0;

  // Starts or stops claims in all queues, for all nodes, until called again. True if that was a change.
  virtual Result<bool> set_scheduler_running(bool running) = 0;
  virtual Result<bool> scheduler_running() = 0;

  // Those of these queues of which claims give nothing at present: all while the scheduler is stopped, else the paused
  // ones. Cheap, for callers that hold tasks ahead of their start.
  virtual Result<std::vector<std::string>> closed(std::span<const std::string> queues) = 0;

  // "worker-N", with an N that was never given before.
  virtual Result<std::string> new_worker_id() = 0;
};

}  // namespace horae
