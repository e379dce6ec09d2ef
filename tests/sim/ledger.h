// The state of each task and queue, derived from a history.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/sim/history.h"

namespace horae::sim {

// One attempt of a task.
struct Attempt {
  std::string owner;
  Instant at;  // when it was handed out
  std::optional<Event> ended;
  bool is_begun = false;               // its worker has begun to work on it
  bool is_retried = false;             // it ended by an abort, and the task will be retried
  std::vector<std::string> late = {};  // owners whose results arrived too late
};

struct Life {
  Submitted born;
  State state = State::kScheduled;
  int tries = 0;
  std::vector<Attempt> attempts;  // the newest last
  Instant granted;                // the present lease: when it was granted or last extended,
  Duration lease{};               // its length,
  Instant lease_expires;          // and its end
  Instant run_at;
  Instant updated;  // when the state last changed
  std::int64_t ready_second = 0;
  std::int64_t rank = 0;
  Instant ready_at;
  int ready_node = -1;  // through which it became ready

  int attempt() const { return static_cast<int>(attempts.size()); }
  bool is_held_by(int number, const std::string& owner) const {
    return state == State::kRunning && number == attempt() && attempts.back().owner == owner;
  }
};

// A waiting worker.
struct Waiter {
  std::vector<std::string> queues;
  Instant since;
  int node = -1;
};

struct QueueLedger {
  QueueSettings settings;
  std::int64_t base = 0;  // points gained until `since`, and by `rate` for each second after it
  std::int64_t since = 0;
  Instant claimable_since;  // when it was last resumed

  // Ready tasks in the order of claims, and by the node through which they became ready, longest first.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, Life*> ready;
  std::map<int, std::set<std::pair<Instant, std::int64_t>>> ready_at_node;
  std::map<int, Instant> last_left_of_node;  // when a ready task of that node was last leased or ended

  // Whether a task was ready after that moment that another node than this one made ready.
  bool had_others(int node, Instant after) const;

  std::int64_t points_at(std::int64_t second) const { return base + settings.ageing_rate * (second - since); }
  void set(const QueueSettings& wanted, Instant at);
};

std::int64_t second_of(Instant at);

// Applies changes without checking them: the caller checks each change first.
class Ledger {
 public:
  Life& add(const Submitted& born, Instant at, int node);
  Life* find(const TaskId& id);
  QueueLedger& queue(const std::string& name) { return queues_[name]; }
  std::unordered_map<TaskId, Life>& lives() { return lives_; }

  // Each removes the task from its present state and puts it into the next.
  void make_scheduled(Life& life, Instant run_at, Instant at);
  void make_ready(Life& life, Instant at, int node);       // with a new rank
  void return_to_ready(Life& life, Instant at, int node);  // with the rank that it had
  void make_running(Life& life, const std::string& owner, Duration lease, Instant at);
  void finish(Life& life, State state, Instant at);
  void extend(Life& life, Duration lease, Instant at);

  // Scheduled tasks, earliest first, and running ones.
  const std::set<std::pair<Instant, std::pair<std::int64_t, Life*>>>& scheduled() const { return scheduled_; }
  const std::map<std::int64_t, Life*>& running() const { return running_; }

 private:
  void leave(Life& life, Instant at);
  void enter_ready(Life& life, Instant at, int node);

  std::unordered_map<TaskId, Life> lives_;
  std::map<std::string, QueueLedger> queues_;
  std::set<std::pair<Instant, std::pair<std::int64_t, Life*>>> scheduled_;
  std::map<std::int64_t, Life*> running_;
};

}  // namespace horae::sim
