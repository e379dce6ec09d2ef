// Checks each record of an ordered history against the earlier ones; see checker.h for the rules.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/sim/checker.h"
#include "tests/sim/ledger.h"

namespace horae::sim {

class Judge {
 public:
  explicit Judge(const History& history) : promises_(history.promises), node_slots_(history.node_slots) {}

  void take(const Record& record);
  void judge_ending(const Ending& ending);

  std::vector<Violation> violations() && { return std::move(violations_); }

 private:
  // One for each kind of record.
  void take(const Submitted& fact);
  void take(const Acknowledged& fact);
  void take(const EndAcknowledged& fact);
  void take(const Claimed& fact);
  void take(const GrantedAgain& fact);
  void take(const TokenServed& fact);
  void take(const Settled& fact);
  void take(const Cancelled& fact);
  void take(const Promoted& fact);
  void take(const Extended& fact);
  void take(const Expired& fact);
  void take(const Purged& fact);
  void take(const QueueSet& fact);
  void take(const SchedulerSet& fact);
  void take(const StoreOutage& fact);
  void take(const Waiting& fact);
  void take(const WaitOver& fact);
  void take(const RunBegins& fact);
  void take(const RunEnds& fact);
  void take(const WorkBegins& fact);
  void take(const NodeGone& fact);
  void take(const Phase& fact);

  struct Outage {
    Instant end;
    Duration length{};
  };
  bool is_excused_by_outage(const Life& life) const;

  void judge_order_of_claim(const Life& life);
  void judge_wait(const std::string& owner);
  void judge_refusal(const Settled& fact, Life& life);
  void apply(const Settled& fact, Life& life);
  void expect_state(const Settled& fact, State expected);

  // Check the final state.
  void judge_task(const Task& task);
  void judge_end_of_waiting(const Task& task);
  void judge_trail(const Life& life, const Task& task);
  void judge_times(const Life& life, const Task& task);
  void judge_missing(const Life& life);

  bool is_calm() const { return phase_ == Phase::Kind::kCalm || phase_ == Phase::Kind::kEnd; }
  bool all_live() const { return is_calm() || phase_ == Phase::Kind::kFlaky; }

  void violate(std::string_view rule, const TaskId& task, std::string text);
  void violate(std::string_view rule, std::string text);

  const Promises promises_;
  const std::size_t node_slots_;
  std::vector<Violation> violations_;
  Ledger ledger_;
  Instant now_;
  int node_ = -1;
  Phase::Kind phase_ = Phase::Kind::kChaos;
  Instant calm_since_;
  bool scheduler_running_ = true;
  Instant scheduler_since_;
  std::optional<Instant> outage_began_;
  std::vector<Outage> outages_;  // in their order
  std::map<std::int64_t, TaskId> intents_;
  std::set<TaskId> acknowledged_;
  std::set<Uuid> served_;  // tokens
  std::map<std::string, Waiter> waiting_;
  std::map<int, std::set<std::pair<TaskId, int>>> running_at_;  // by node: the attempts in its own slots
  std::size_t purged_ = 0;
  Instant last_purge_;
};

}  // namespace horae::sim
