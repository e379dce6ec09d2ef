#include "tests/sim/run.h"

#include <fmt/format.h>

#include <memory>
#include <ranges>
#include <utility>

#include "tests/sim/client.h"
#include "tests/sim/nemesis.h"
#include "tests/sim/network.h"
#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace horae::sim {
namespace {

class Run {
 public:
  Run(const Plan& plan, std::ostream* trace) : world_(plan, trace) {
    for (int i = 0; i < plan.nodes; ++i) network_.add(std::make_unique<Node>(world_, i));
    for (const Duration lease : plan.leases) workers_.push_back(std::make_unique<Worker>(world_, network_, lease));
    world_.history.node_slots = static_cast<std::size_t>(plan.node_slots);
  }

  RunReport go() {
    begin();
    const Plan& plan = world_.plan;
    let_pass(plan.chaos);
    nemesis_.stop();
    world_.enter(Phase::Kind::kRecovery);
    let_pass(plan.lease * (2 * Nemesis::kLongest + 4));
    world_.enter(Phase::Kind::kFlaky);
    nemesis_.start_short_outages();
    let_pass(plan.flaky);
    world_.enter(Phase::Kind::kRecovery);
    let_pass(plan.lease * 2);
    world_.enter(Phase::Kind::kCalm);
    let_pass(plan.calm);
    end();
    return report();
  }

 private:
  void begin() {
    world_.enter(Phase::Kind::kChaos);
    RecordedQueues queues(world_, -1);
    for (int i = 0; i < world_.plan.queues; ++i) {
      (void)queues.configure(fmt::format("queue-{}", i), {.retention = world_.plan.retention}).value();
    }
    for (const auto& node : network_.nodes()) node->start();
    for (const auto& worker : workers_) worker->start();
    client_.start();
    nemesis_.start();
    nemesis_.start_drains();
  }

  // Submits nothing more and gives every task time to end.
  void end() {
    client_.stop();
    let_pass(world_.plan.lease * 10);
    world_.enter(Phase::Kind::kEnd);
    const Instant latest = world_.now() + std::chrono::ceil<std::chrono::microseconds>(
                                              world_.plan.chaos + world_.plan.calm + world_.plan.lease * 300);
    do let_pass(world_.plan.lease * 5);
    while (world_.now() < latest && is_anything_left());
    read_ending();
  }

  void let_pass(Duration time) { world_.events.pass(time); }

  bool is_anything_left() {
    for (const ListKind kind : {ListKind::kRunning, ListKind::kReady, ListKind::kScheduled}) {
      const auto page = world_.store->tasks().list({.kind = kind}).value();
      const bool any = std::ranges::any_of(page.tasks, [](const Task& task) { return !task.recurring; });
      if (any || !page.next.empty()) return true;
    }
    return false;
  }

  void read_ending() {
    Ending& ending = world_.history.ending;
    ending.at = world_.now();
    ending.queues = world_.store->queues().queues().value().queues;
    ListQuery query{.kind = ListKind::kAll, .limit = kMaxPage};
    do {
      const Page page = world_.store->tasks().list(query).value();
      std::vector<TaskId> ids;
      for (const Task& task : page.tasks) ids.push_back(task.id);
      for (auto& task : world_.store->tasks().get(ids).value()) ending.tasks.push_back(std::move(*task));
      query.cursor = page.next;
    } while (!query.cursor.empty());
  }

  RunReport report() {
    RunReport report{.violations = check(world_.history),
                     .faults = world_.faults,
                     .events = world_.events.happened(),
                     .time = world_.now() - kStart};
    for (const Record& record : world_.history.records) {
      if (std::holds_alternative<Submitted>(record.what)) ++report.lives;
      const auto* settled = std::get_if<Settled>(&record.what);
      if (settled == nullptr || settled->verdict != Verdict::kAccepted) continue;
      if (settled->event == Event::kComplete && settled->state == State::kScheduled) ++report.turns;
    }
    return report;
  }

  World world_;
  Network network_{world_};
  std::vector<std::unique_ptr<Worker>> workers_;
  Client client_{world_, network_};
  Nemesis nemesis_{world_, network_, workers_};
};

}  // namespace

RunReport run_world(const Plan& plan, std::ostream* trace) {
  Run run(plan, trace);
  try {
    return run.go();
  } catch (const Endless&) {
    return {.violations = {{"endless", kStart, "more events than in any correct world"}}};
  }
}

}  // namespace horae::sim
