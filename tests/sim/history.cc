#include "tests/sim/history.h"

#include <fmt/format.h>

#include "base/duration.h"

namespace horae::sim {
namespace {

std::string name(Event event) { return std::string(to_string(event)); }
std::string name(State state) { return std::string(to_string(state)); }
std::string name(Verdict verdict) { return std::string(to_string(verdict)); }

// Describes each kind of record.
struct Describer {
  Instant start;

  std::string operator()(const Submitted& fact) const {
    return fmt::format("stores {} (intent {}, queue {}, priority {}{}{}) as {}", short_id(fact.task), fact.intent,
                       fact.wish.queue, fact.wish.priority,
                       fact.wish.run_at ? ", run at " + format_duration(*fact.wish.run_at - start) : "",
                       fact.wish.recurring ? ", every " + format_duration(*fact.wish.recurring) : "", name(fact.state));
  }
  std::string operator()(const Acknowledged& fact) const {
    return "a client gets the acknowledgement of " + short_id(fact.task);
  }
  std::string operator()(const EndAcknowledged& fact) const {
    return fmt::format("a worker gets the acknowledgement of the end of {} attempt {}", short_id(fact.task),
                       fact.attempt);
  }
  std::string operator()(const Claimed& fact) const {
    return fmt::format("leases {} attempt {} to {} for {}", short_id(fact.task), fact.attempt, fact.owner,
                       format_duration(fact.lease));
  }
  std::string operator()(const GrantedAgain& fact) const {
    return fmt::format("returns {} attempt {} to {} again", short_id(fact.task), fact.attempt, fact.owner);
  }
  std::string operator()(const TokenServed& fact) const {
    return "the token " + short_id(fact.token) + " has returned a batch";
  }
  std::string operator()(const Settled& fact) const {
    return fmt::format("{} {} attempt {} by {}: {}{}", name(fact.event), short_id(fact.task), fact.attempt, fact.owner,
                       name(fact.verdict), fact.state ? ", now " + name(*fact.state) : "");
  }
  std::string operator()(const Cancelled& fact) const {
    return "cancel " + short_id(fact.task) + ": " + name(fact.verdict);
  }
  std::string operator()(const Promoted& fact) const { return fmt::format("{} tasks become ready", fact.count); }
  std::string operator()(const Extended& fact) const {
    return fact.last_stamp ? "leases that were out of sight are extended" : "all leases are extended";
  }
  std::string operator()(const Expired& fact) const {
    return fmt::format("expires {} attempt {} of {}, now {}", short_id(fact.task), fact.attempt, fact.owner,
                       name(fact.state));
  }
  std::string operator()(const Purged& fact) const { return fmt::format("purges {} tasks", fact.count); }
  std::string operator()(const QueueSet& fact) const {
    return fmt::format("queue {}: ageing rate {}{}", fact.queue, fact.settings.ageing_rate,
                       fact.settings.paused ? ", paused" : "");
  }
  std::string operator()(const SchedulerSet& fact) const {
    return fact.running ? "the scheduler is started" : "the scheduler is stopped";
  }
  std::string operator()(const StoreOutage& fact) const {
    return fact.is_down ? "the store is down" : "the store is up";
  }
  std::string operator()(const Waiting& fact) const { return fact.owner + " waits for tasks"; }
  std::string operator()(const WaitOver& fact) const { return fact.owner + " stops waiting"; }
  std::string operator()(const RunBegins& fact) const {
    return fmt::format("runs {} attempt {}", short_id(fact.task), fact.attempt);
  }
  std::string operator()(const RunEnds& fact) const {
    return fmt::format("ends the run of {} attempt {}", short_id(fact.task), fact.attempt);
  }
  std::string operator()(const WorkBegins& fact) const {
    return fmt::format("a worker begins {} attempt {}", short_id(fact.task), fact.attempt);
  }
  std::string operator()(const NodeGone&) const { return "has ended"; }
  std::string operator()(const Phase& fact) const {
    switch (fact.kind) {
      case Phase::Kind::kChaos:
        return "---- chaos ----";
      case Phase::Kind::kRecovery:
        return "---- recovery ----";
      case Phase::Kind::kFlaky:
        return "---- single calls fail ----";
      case Phase::Kind::kCalm:
        return "---- calm ----";
      case Phase::Kind::kEnd:
        return "---- no new tasks ----";
    }
    return "";
  }
};

}  // namespace

std::string short_id(const TaskId& id) { return to_string(id).substr(24); }

std::string describe(const Record& record, Instant start) {
  const std::string node = record.node < 0 ? "" : fmt::format("node-{} ", record.node);
  return node + std::visit(Describer{start}, record.what);
}

}  // namespace horae::sim
