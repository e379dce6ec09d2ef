// The nodes on one store: which are alive, and what each must learn about changes that other nodes made.
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

// A node that was not seen for longer counts as gone: nothing is sent to it.
inline constexpr Duration kNodeIsGoneAfter = std::chrono::seconds(10);

// The record of a node that was not seen for so long is removed.
inline constexpr Duration kNodeIsForgottenAfter = std::chrono::hours(1);

// Minimum interval between two notes that a queue is awaited: each is a write.
inline constexpr Duration kAwaitedIsNotedEach = std::chrono::seconds(5);

struct NodeRecord {
  std::string id;       // "worker-7": of this start of the node
  std::string address;  // "127.0.0.1:3369": where it answers; may be empty
  std::string version;
  Instant started_at;
  Instant last_seen;

  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};

// What a node reports and requests once a second, in one query.
struct TickWish {
  NodeRecord self;                   // without the times, which are the store's
  bool wants_events = false;         // a client of this node reads events: see Bulletin
  std::vector<std::string> awaited;  // queues on which a client of this node waits for tasks
};

struct Tick {
  Instant now;                     // the store's clock
  std::size_t peers = 0;           // other nodes that are alive
  bool peers_want_events = false;  // at least one of them
  std::optional<Duration>
      next_due_in;  // until the next scheduled task or schedule is due; zero if one is; nothing without any
  bool has_leases = false;
  std::vector<std::string> ready;  // those of `awaited` that are open and have ready tasks
  std::int64_t token_version = 0;  // TokenList::version
  std::uint64_t moves = 0;         // how often the database was replaced by another since the node started
};

// Messages between nodes, delivered at once. They are hints: any may be lost, and nothing depends on them.
inline constexpr std::size_t kMaxBulletinBytes = 7'900;

// Thread-safe.
class Bulletin {
 public:
  // Called on a thread of the bulletin, one call at a time; must return soon. Without a message: messages arrive from
  // now on, and earlier ones may have been lost, because there was no connection.
  using Heard = std::function<void(std::optional<std::string_view> message)>;

  virtual ~Bulletin() = default;

  // Sends to all listeners on this store, including those of this node. kRefused for more than kMaxBulletinBytes.
  virtual Result<void> tell(std::string_view message) = 0;

  // False while no messages can arrive: the connection is lost, or a pooler in between forwards no notifications, which
  // the bulletin detects by sending to itself.
  virtual bool can_hear() const = 0;
};

// Thread safety, durability and time: as in TaskStore.
class ClusterStore {
 public:
  virtual ~ClusterStore() = default;

  // Notes that the node is alive and which queues it awaits, and reads all that may mean work for it.
  virtual Result<Tick> tick(const TickWish& wish) = 0;

  // All that are not forgotten, oldest first.
  virtual Result<std::vector<NodeRecord>> nodes() = 0;

  // The node stops: removes its record.
  virtual Result<void> leave(std::string_view node) = 0;

  // When a tick last reported that a client waits for tasks of this queue, to the precision of kAwaitedIsNotedEach;
  // nothing if never. For a queue that does not exist this is forgotten after kNodeIsForgottenAfter, as nodes are.
  virtual Result<std::optional<Instant>> last_awaited(std::string_view queue) = 0;

  // How many tasks would be claimed before this ready one, if its queue were claimed from alone: `most` at most.
  // Nothing if it is not ready.
  virtual Result<std::optional<std::size_t>> ahead(const TaskId& id, std::size_t most) = 0;

  // Listens from now on until the bulletin is destroyed. Null where there can be only one node (SQLite).
  virtual std::unique_ptr<Bulletin> listen(Bulletin::Heard heard) = 0;
};

}  // namespace horae
