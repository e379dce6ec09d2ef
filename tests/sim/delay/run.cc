#include "tests/sim/delay/run.h"

#include <memory>
#include <utility>

#include "tests/sim/delay/client.h"

namespace horae::sim {
namespace {

class DelayRun {
 public:
  DelayRun(const DelayPlan& plan, std::ostream* trace) : plan_(plan), world_(plan.base, trace) {
    for (int i = 0; i < plan.base.nodes; ++i) {
      nodes_.push_back(std::make_unique<RelayNode>(world_, broker_, ledger_, plan_, i));
      nodes_.back()->refuses = [this](MessageNumber number) { return client_.is_refused(number); };
    }
  }

  RunReport go() {
    const Duration hold = plan_.relay.hold_time;
    enter(Phase::Kind::kChaos);
    for (const auto& node : nodes_) node->start();
    client_.start();
    start_chaos();
    start_drains();
    world_.events.pass(plan_.base.chaos);
    enter(Phase::Kind::kRecovery);
    world_.events.pass(hold * 8);
    enter(Phase::Kind::kFlaky);
    start_outages();
    world_.events.pass(plan_.base.flaky);
    enter(Phase::Kind::kRecovery);
    world_.events.pass(hold * 8);
    enter(Phase::Kind::kCalm);
    world_.events.pass(plan_.base.calm);
    end();
    return {.violations = std::move(ledger_).violations(),
            .lives = ledger_.messages(),
            .faults = world_.faults,
            .events = world_.events.happened(),
            .time = world_.now() - kStart};
  }

 private:
  void enter(Phase::Kind phase) {
    world_.enter(phase);
    ledger_.enter(phase);
  }

  void end() {
    client_.stop();
    client_.accept_all();
    enter(Phase::Kind::kEnd);
    const Instant latest = world_.now() + std::chrono::minutes(5);
    do world_.events.pass(std::chrono::seconds(1));
    while (world_.now() < latest && (client_.is_busy() || ledger_.is_anything_left()));
    world_.events.pass(std::chrono::seconds(3));  // the last offsets are committed
    ledger_.end(broker_.ends());
  }

  void repeat(Duration mean, std::function<void()> trouble) {
    if (mean == Duration::zero()) return;
    world_.events.after(world_.chance.around(mean), [this, mean, trouble = std::move(trouble)] {
      if (!world_.in_chaos()) return;
      trouble();
      repeat(mean, trouble);
    });
  }

  void start_chaos() {
    const Troubles& troubles = plan_.base.troubles;
    repeat(troubles.node_crash, [this] { any_node().crash(); });
    repeat(troubles.node_pause, [this] { any_node().pause(a_while()); });
    repeat(troubles.node_cut_off, [this] { any_node().cut_off(a_while()); });
    repeat(troubles.store_outage, [this] { start_store_outage(a_while()); });
    repeat(troubles.store_slow, [this] {
      world_.fault("the store is slow");
      world_.store_delay = world_.chance.around(std::chrono::milliseconds(30));
      world_.events.after(a_while(), [this] { world_.store_delay = {}; });
    });
    repeat(plan_.broker_outage, [this] { broker_.go_down(a_while()); });
    repeat(plan_.rebalance, [this] {
      world_.fault("the group is rebalanced");
      broker_.rebalance();
    });
  }

  // Until the end of the world, because an orderly stop must have no visible effect.
  void start_drains() {
    world_.events.after(world_.chance.around(plan_.relay.hold_time * 3), [this] {
      if (world_.is_ending()) return;
      if (!world_.is_flaky()) any_node().drain();
      start_drains();
    });
  }

  // While all nodes live.
  void start_outages() {
    const Duration hold = plan_.relay.hold_time;
    world_.events.after(hold * 3 + world_.chance.around(hold), [this] {
      if (!world_.is_flaky()) return;
      start_store_outage(a_while());
      start_outages();
    });
  }

  void start_store_outage(Duration length) {
    if (world_.store_is_down) return;
    world_.fault("the store is unreachable");
    world_.store_is_down = true;
    world_.events.after(length, [this] { world_.store_is_down = false; });
  }

  RelayNode& any_node() { return *world_.chance.one_of(nodes_); }
  Duration a_while() {
    const Duration hold = plan_.relay.hold_time;
    return world_.chance.happens(0.5) ? world_.chance.between(hold / 20, hold / 2)
                                      : world_.chance.between(hold / 2, hold * 3);
  }

  const DelayPlan plan_;
  World world_;
  DelayLedger ledger_{world_, plan_};
  Broker broker_{world_, ledger_, plan_};
  std::vector<std::unique_ptr<RelayNode>> nodes_;
  DelayClient client_{world_, broker_, ledger_, plan_, nodes_};
};

}  // namespace

RunReport run_delay_world(const DelayPlan& plan, std::ostream* trace) {
  DelayRun run(plan, trace);
  try {
    return run.go();
  } catch (const Endless&) {
    return {.violations = {{"endless", kStart, "more events than in any correct world"}}};
  }
}

}  // namespace horae::sim
