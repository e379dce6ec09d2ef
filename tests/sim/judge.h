// Walks through an ordered history and judges each record by what was told before; see checker.h for the rules.
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
  void take(const Submitted& told);
  void take(const Acknowledged& told);
  void take(const Claimed& told);
  void take(const GivenAgain& told);
  void take(const TokenServed& told);
  void take(const Settled& told);
  void take(const Cancelled& told);
  void take(const Promoted& told);
  void take(const Extended& told);
  void take(const Expired& told);
  void take(const Purged& told);
  void take(const QueueSet& told);
  void take(const SchedulerSet& told);
  void take(const StoreAway& told);
  void take(const Waiting& told);
  void take(const WaitOver& told);
  void take(const RunBegins& told);
  void take(const RunEnds& told);
  void take(const WorkBegins& told);
  void take(const NodeGone& told);
  void take(const Phase& told);

  void judge_order_of_claim(const Life& life);
  void judge_wait(const std::string& owner);
  void judge_refusal(const Settled& told, Life& life);
  void apply(const Settled& told, Life& life);
  void expect_state(const Settled& told, State expected);

  // Of the ending.
  void judge_task(const Task& task);
  void judge_end_of_waiting(const Task& task);
  void judge_trail(const Life& life, const Task& task);
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
  std::optional<Instant> away_since_;
  Instant outage_end_;  // of the last outage that was longer than the monitors' silence
  std::map<std::int64_t, TaskId> intents_;
  std::set<TaskId> acknowledged_;
  std::set<Uuid> served_;  // tokens
  std::map<std::string, Waiter> waiting_;
  std::map<int, std::set<std::pair<TaskId, int>>> running_at_;  // by node: the attempts in its own slots
  std::size_t purged_ = 0;
  Instant last_purge_;
};

}  // namespace horae::sim
