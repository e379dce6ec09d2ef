// The nodes on one store: who is there, and what each has to know about what the others did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/task.h"

namespace horae {

// A node that was not seen for longer is taken for gone: it is not told anything any more.
inline constexpr Duration kNodeIsGoneAfter = std::chrono::seconds(10);

// The record of a node is removed when it was not seen for so long.
inline constexpr Duration kNodeIsForgottenAfter = std::chrono::hours(1);

// That a queue is waited for is noted no more often: it would be written all the time.
inline constexpr Duration kAwaitedIsNotedEach = std::chrono::seconds(5);

struct NodeRecord {
  std::string id;       // "worker-7": of this start of the node
  std::string address;  // "127.0.0.1:3369": where it answers; may be empty
  std::string version;
  Instant started_at;
  Instant last_seen;

  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};

// What a node says and asks once a second, all in one query.
struct TickWish {
  NodeRecord self;                   // without the times, which are the store's
  bool wants_hints = false;          // somebody reads events here: see Bulletin
  std::vector<std::string> awaited;  // queues whose tasks somebody waits for here
};

struct Tick {
  Instant now;                          // the store's clock
  std::size_t peers = 0;                // other nodes that are there
  bool peers_want_hints = false;        // at least one of them
  std::optional<Duration> next_due_in;  // until the next scheduled task is due; zero if one is; nothing without any
  bool has_leases = false;
  std::vector<std::string> ready;  // those of `awaited` that are open and have ready tasks
  std::int64_t token_version = 0;  // TokenList::version
  std::uint64_t moves = 0;         // how often another database has taken the place of the one that the node knew
};

// Messages between nodes that hear each other at once. They are hints: any may be lost, and nothing depends on them.
inline constexpr std::size_t kMaxBulletinBytes = 7'900;

// Threads: every member may be called from any thread at once.
class Bulletin {
 public:
  // Called on a thread of the bulletin, one call at a time, and should return soon. Nothing: it hears from now on, and
  // what was told before may have been lost, because there was no connection.
  using Heard = std::function<void(std::optional<std::string_view> message)>;

  virtual ~Bulletin() = default;

  // Tells all listeners on this store, also those of this node. kRefused for more than kMaxBulletinBytes.
  virtual Result<void> tell(std::string_view message) = 0;

  // False while nothing can be heard: the connection is away, or a pooler sits between that passes on no
  // notifications, which is found out by listening to oneself.
  virtual bool can_hear() const = 0;
};

// Threads, durability, time: as TaskStore says.
class ClusterStore {
 public:
  virtual ~ClusterStore() = default;

  // Notes that the node is there and that the queues are waited for, and looks at everything that may have work for it.
  virtual Result<Tick> tick(const TickWish& wish) = 0;

  // All that are not forgotten, oldest first.
  virtual Result<std::vector<NodeRecord>> nodes() = 0;

  // The node stops: its record goes.
  virtual Result<void> leave(std::string_view node) = 0;

  // When a node last said that somebody waits for tasks of this queue, as ticks told, to kAwaitedIsNotedEach; nothing
  // if never. What was said of a queue that does not exist is forgotten as nodes are.
  virtual Result<std::optional<Instant>> last_awaited(std::string_view queue) = 0;

  // How many tasks would be claimed before this ready one, if its queue were claimed from alone: `most` at most.
  // Nothing if it is not ready.
  virtual Result<std::optional<std::size_t>> ahead(const TaskId& id, std::size_t most) = 0;

  // Listens from now on until the bulletin is destroyed. Null where there can be only one node (SQLite).
  virtual std::unique_ptr<Bulletin> listen(Bulletin::Heard heard) = 0;
};

}  // namespace horae
