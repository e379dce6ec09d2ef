// What happened in a run, as told by the store and by those who were answered: all that the checker knows.
//
// The simulator writes it at the store's own door, in the order of commits and with the store's time; the kill tests
// write down what real processes were told, in no particular order.
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

// A task was stored. Which wish of which client it fulfils is its intent: no intent may become two tasks.
struct Submitted {
  TaskId task;
  std::int64_t number = 0;
  std::int64_t intent = 0;  // 0 where nobody knows
  NewTask wish;
  State state = State::kReady;
  std::optional<std::string> owner;  // of a task that begins as running
  Duration lease{};
};

// A client was told that its task is stored.
struct Acknowledged {
  TaskId task;
};

struct Claimed {
  TaskId task;
  int attempt = 0;
  std::string owner;
  Duration lease{};
  std::optional<Instant> lease_expires;
};

// What its owner holds was given to it once more, because it has repeated its claim.
struct GivenAgain {
  TaskId task;
  int attempt = 0;
  std::string owner;
};

// A claim under a token of the worker's own got tasks, those just told.
struct TokenServed {
  Uuid token;
};

// A heartbeat, complete, abort, yield or release, and how it was judged.
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

// All leases were extended by their lengths, because nobody had looked.
struct Extended {};

struct Expired {
  TaskId task;
  int attempt = 0;
  std::string owner;
  State state = State::kReady;
};

// Finished tasks were forgotten.
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

// From now on nobody reaches the store, or somebody does again.
struct StoreAway {
  bool away = true;
};

// A worker waits at a node for tasks of these queues, or does so no longer.
struct Waiting {
  std::string owner;
  std::vector<std::string> queues;
};
struct WaitOver {
  std::string owner;
};

// One of a node's own slots begins to run an attempt, or is free again.
struct RunBegins {
  TaskId task;
  int attempt = 0;
};
struct RunEnds {
  TaskId task;
  int attempt = 0;
};

// A worker begins to work on an attempt that it was given.
struct WorkBegins {
  TaskId task;
  int attempt = 0;
};

// The node is gone, with all that ran in it.
struct NodeGone {};

// How much trouble there is from now on, and so what may be asked for.
struct Phase {
  enum class Kind {
    kChaos,     // anything may fail
    kRecovery,  // nothing fails any more, but what failed is still being mended
    kFlaky,     // single calls fail, all parts live: no lease expires
    kCalm,      // nothing fails: no lease expires, and nothing that could be done waits
    kEnd,       // nothing new comes: all must end
  };
  Kind kind = Kind::kChaos;
};

using What = std::variant<Submitted, Acknowledged, Claimed, GivenAgain, TokenServed, Settled, Cancelled, Promoted,
                          Extended, Expired, Purged, QueueSet, SchedulerSet, StoreAway, Waiting, WaitOver, RunBegins,
                          RunEnds, WorkBegins, NodeGone, Phase>;

struct Record {
  Instant at;     // the store's clock
  int node = -1;  // through which it happened; below 0 where that has no meaning
  What what;
};

// The store as it stands after the run.
struct Ending {
  Instant at;
  std::vector<Task> tasks;  // all of them, with their histories
  std::vector<QueueInfo> queues;
};

// What a calm world may be asked to keep.
struct Promises {
  Duration silence = kDefaultLease / 3;                // of the monitors: a longer outage extends all leases
  Duration prompt = std::chrono::milliseconds(200);    // from ready to leased, for a worker that waits at the same node
  Duration patient = std::chrono::milliseconds(1500);  // the same for a worker at another node, and from due to ready
};

struct History {
  bool in_order = true;  // the records stand in the order of commits, and all of them are there
  Promises promises;
  std::size_t node_slots = 0;  // of each node
  std::vector<Record> records;
  Ending ending;
};

// One line for people: "claims 0190f7c2 attempt 2 for worker-7 until 12.5 s". Times are counted from `start`.
std::string describe(const Record& record, Instant start);

// "0190f7c2": the end of an id, enough to find it in a trace.
std::string short_id(const TaskId& id);

}  // namespace horae::sim
