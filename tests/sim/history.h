// The history of a run: the commits of the store and the responses that callers got. It is the checker's only input.
//
// The simulator records it inside the store, in the order of commits and with the store's time; the kill tests record the
// acknowledgements that real processes got, in no particular order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "model/settle.h"
#include "model/task.h"
#include "store/queue_store.h"

namespace horae::sim {

// A task was stored. The intent identifies the client's submit that it fulfils: no intent may become two tasks.
struct Submitted {
  TaskId task;
  std::int64_t number = 0;
  std::int64_t intent = 0;  // 0: unknown
  NewTask wish;
  State state = State::kReady;
  std::optional<std::string> owner;  // of a task that begins as running
  Duration lease{};
};

// A client got the acknowledgement that its task is stored.
struct Acknowledged {
  TaskId task;
};

// A worker got the acknowledgement that the end of its attempt was accepted.
struct EndAcknowledged {
  TaskId task;
  int attempt = 0;
};

struct Claimed {
  TaskId task;
  int attempt = 0;
  std::string owner;
  Duration lease{};
  std::optional<Instant> lease_expires;
};

// An attempt was returned to its owner once more, because the owner repeated its claim.
struct GrantedAgain {
  TaskId task;
  int attempt = 0;
  std::string owner;
};

// A claim with a token of the worker got tasks: those of the records just before this one.
struct TokenServed {
  Uuid token;
};

// A heartbeat, complete, abort, yield or release, and its verdict.
struct Settled {
  Event event = Event::kHeartbeat;
  TaskId task;
  int attempt = 0;
  std::string owner;
  std::optional<Duration> lease;  // nothing: as long as before
  double chance = 0.0;            // of a retry's delay
  Verdict verdict = Verdict::kNotFound;
  std::optional<State> state;  // after it
};

struct Cancelled {
  TaskId task;
  Verdict verdict = Verdict::kNotFound;
};

// Due tasks became ready, earliest first.
struct Promoted {
  std::size_t count = 0;
  std::size_t max = 0;
};

// Leases were extended by their lengths: all of them, or those that were out of sight for too long (ExpireWish).
struct Extended {
  std::optional<Instant> last_stamp;  // nothing: all
  Duration slack{};
};

struct Expired {
  TaskId task;
  int attempt = 0;
  std::string owner;
  State state = State::kReady;
};

// Finished tasks were deleted.
struct Purged {
  std::size_t count = 0;
};

struct QueueSet {
  std::string queue;
  QueueSettings settings;
};

struct SchedulerSet {
  bool running = true;
};

// The store became unreachable, or reachable again.
struct StoreOutage {
  bool is_down = true;
};

// A worker begins to wait at a node for tasks of these queues, or stops waiting.
struct Waiting {
  std::string owner;
  std::vector<std::string> queues;
};
struct WaitOver {
  std::string owner;
};

// One of a node's own slots begins an attempt, or ends it.
struct RunBegins {
  TaskId task;
  int attempt = 0;
};
struct RunEnds {
  TaskId task;
  int attempt = 0;
};

// A worker begins to work on an attempt that it has claimed.
struct WorkBegins {
  TaskId task;
  int attempt = 0;
};

// A node ended, and with it everything that ran in its slots.
struct NodeGone {};

// The kind of faults from now on, which determines the rules that apply.
struct Phase {
  enum class Kind {
    kChaos,     // anything may fail
    kRecovery,  // no new faults, but the system is still recovering
    kFlaky,     // single calls fail, all processes live: no lease expires
    kCalm,      // no faults: no lease expires, and no ready task waits while a worker is free
    kEnd,       // no new tasks: all must end
  };
  Kind kind = Kind::kChaos;
};

using What = std::variant<Submitted, Acknowledged, EndAcknowledged, Claimed, GrantedAgain, TokenServed, Settled,
                          Cancelled, Promoted, Extended, Expired, Purged, QueueSet, SchedulerSet, StoreOutage, Waiting,
                          WaitOver, RunBegins, RunEnds, WorkBegins, NodeGone, Phase>;

struct Record {
  Instant at;     // the store's clock
  int node = -1;  // the node that made the call; below 0 if none did
  What what;
};

// The state of the store after the run.
struct Ending {
  Instant at;
  std::vector<Task> tasks;  // all of them, with their histories
  std::vector<QueueInfo> queues;
};

// The time limits that hold in a calm world.
struct Promises {
  Duration slack{};                                  // an outage counts if it is so much longer than a third of a lease
  Duration prompt = std::chrono::milliseconds(200);  // from ready to leased, for a worker that waits at the same node
  Duration patient = std::chrono::milliseconds(1500);  // the same for a worker at another node, and from due to ready
};

struct History {
  bool in_order = true;  // the records are complete and in the order of commits
  Promises promises;
  std::size_t node_slots = 0;  // of each node
  std::vector<Record> records;
  Ending ending;
};

// One line of text: "leases 0190f7c2 attempt 2 to worker-7 for 10s". Times are relative to `start`.
std::string describe(const Record& record, Instant start);

// The end of an id, sufficient to find it in a trace.
std::string short_id(const TaskId& id);

}  // namespace horae::sim
