#include "tests/sim/nemesis.h"

namespace horae::sim {

void Nemesis::start() {
  const Troubles& troubles = world_.plan.troubles;
  again_and_again(troubles.node_crash, [this] { network_.any_node().crash(); });
  again_and_again(troubles.node_pause, [this] { network_.any_node().pause(a_while()); });
  again_and_again(troubles.node_cut_off, [this] { network_.any_node().cut_off(a_while()); });
  again_and_again(troubles.node_clock_step, [this] {
    world_.fault("the clock of a node jumps");
    network_.any_node().step_clock(a_while());
  });
  again_and_again(troubles.store_outage, [this] { take_store_away(); });
  again_and_again(troubles.store_slow, [this] { slow_store_down(); });
  again_and_again(troubles.worker_crash, [this] { any_worker().crash(); });
  again_and_again(troubles.worker_pause, [this] { any_worker().pause(a_while()); });
  again_and_again(troubles.worker_cut_off, [this] { any_worker().cut_off(a_while()); });
}

void Nemesis::again_and_again(Duration mean, std::function<void()> trouble) {
  if (mean == Duration::zero()) return;
  world_.events.after(world_.chance.around(mean), [this, mean, trouble = std::move(trouble)] {
    if (!world_.in_chaos()) return;
    trouble();
    again_and_again(mean, trouble);
  });
}

void Nemesis::take_store_away() {
  if (world_.store_is_away) return;
  world_.fault("nobody reaches the store");
  world_.store_is_away = true;
  world_.record(StoreAway{true});
  world_.events.after(a_while(), [this] {
    world_.store_is_away = false;
    world_.record(StoreAway{false});
  });
}

void Nemesis::slow_store_down() {
  world_.fault("the store is slow");
  world_.store_delay = world_.chance.around(world_.plan.lease / 50);
  world_.events.after(a_while() / 4, [this] { world_.store_delay = {}; });
}

void Nemesis::stop() {
  for (const auto& worker : workers_) worker->heal();
}

void Nemesis::start_drains() {
  world_.events.after(world_.chance.around(world_.plan.lease * 5), [this] {
    if (world_.is_ending()) return;
    if (world_.chance.happens(0.5)) {
      any_worker().drain();
    } else {
      network_.any_node().drain(world_.plan.lease);
    }
    start_drains();
  });
}

}  // namespace horae::sim
