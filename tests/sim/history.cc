#include "tests/sim/history.h"

#include <fmt/format.h>

#include "base/duration.h"

namespace horae::sim {
namespace {

std::string name(Event event) { return std::string(to_string(event)); }
std::string name(State state) { return std::string(to_string(state)); }
std::string name(Verdict verdict) { return std::string(to_string(verdict)); }

// Words for each kind of record.
struct Teller {
  Instant start;

  std::string operator()(const Submitted& told) const {
    return fmt::format("stores {} (intent {}, queue {}, priority {}{}{}) as {}", short_id(told.task), told.intent,
                       told.wish.queue, told.wish.priority,
                       told.wish.run_at ? ", run at " + format_duration(*told.wish.run_at - start) : "",
                       told.wish.recurring ? ", every " + format_duration(*told.wish.recurring) : "", name(told.state));
  }
  std::string operator()(const Acknowledged& told) const {
    return "a client knows that " + short_id(told.task) + " is stored";
  }
  std::string operator()(const Claimed& told) const {
    return fmt::format("leases {} attempt {} to {} for {}", short_id(told.task), told.attempt, told.owner,
                       format_duration(told.lease));
  }
  std::string operator()(const GivenAgain& told) const {
    return fmt::format("gives {} attempt {} to {} once more", short_id(told.task), told.attempt, told.owner);
  }
  std::string operator()(const TokenServed& told) const {
    return "the token " + short_id(told.token) + " has served its claim";
  }
  std::string operator()(const Settled& told) const {
    return fmt::format("{} {} attempt {} by {}: {}{}", name(told.event), short_id(told.task), told.attempt, told.owner,
                       name(told.verdict), told.state ? ", now " + name(*told.state) : "");
  }
  std::string operator()(const Cancelled& told) const {
    return "cancel " + short_id(told.task) + ": " + name(told.verdict);
  }
  std::string operator()(const Promoted& told) const { return fmt::format("{} tasks become ready", told.count); }
  std::string operator()(const Extended&) const { return "all leases are extended"; }
  std::string operator()(const Expired& told) const {
    return fmt::format("expires {} attempt {} of {}, now {}", short_id(told.task), told.attempt, told.owner,
                       name(told.state));
  }
  std::string operator()(const Purged& told) const { return fmt::format("purges {} tasks", told.count); }
  std::string operator()(const QueueSet& told) const {
    return fmt::format("queue {}: ageing rate {}{}", told.queue, told.settings.ageing_rate,
                       told.settings.paused ? ", paused" : "");
  }
  std::string operator()(const SchedulerSet& told) const {
    return told.running ? "the scheduler is started" : "the scheduler is stopped";
  }
  std::string operator()(const StoreAway& told) const { return told.away ? "the store is away" : "the store is back"; }
  std::string operator()(const Waiting& told) const { return told.owner + " waits for tasks"; }
  std::string operator()(const WaitOver& told) const { return told.owner + " waits no longer"; }
  std::string operator()(const RunBegins& told) const {
    return fmt::format("runs {} attempt {}", short_id(told.task), told.attempt);
  }
  std::string operator()(const RunEnds& told) const {
    return fmt::format("ends the run of {} attempt {}", short_id(told.task), told.attempt);
  }
  std::string operator()(const WorkBegins& told) const {
    return fmt::format("a worker begins {} attempt {}", short_id(told.task), told.attempt);
  }
  std::string operator()(const NodeGone&) const { return "is gone"; }
  std::string operator()(const Phase& told) const {
    switch (told.kind) {
      case Phase::Kind::kChaos:
        return "---- chaos ----";
      case Phase::Kind::kRecovery:
        return "---- recovery ----";
      case Phase::Kind::kFlaky:
        return "---- single calls fail ----";
      case Phase::Kind::kCalm:
        return "---- calm ----";
      case Phase::Kind::kEnd:
        return "---- nothing new comes ----";
    }
    return "";
  }
};

}  // namespace

std::string short_id(const TaskId& id) { return to_string(id).substr(24); }

std::string describe(const Record& record, Instant start) {
  const std::string who = record.node < 0 ? "" : fmt::format("node-{} ", record.node);
  return who + std::visit(Teller{start}, record.what);
}

}  // namespace horae::sim
