#include "tests/sim/nemesis.h"

namespace horae::sim {

void Nemesis::start() {
  const Troubles& troubles = world_.plan.troubles;
  repeat(troubles.node_crash, [this] { network_.any_node().crash(); });
  repeat(troubles.node_pause, [this] { network_.any_node().pause(a_while()); });
  repeat(troubles.node_cut_off, [this] { network_.any_node().cut_off(a_while()); });
  repeat(troubles.node_clock_step, [this] {
    world_.fault("the clock of a node jumps");
    network_.any_node().step_clock(a_while());
  });
  repeat(troubles.store_outage, [this] { start_store_outage(world_.chance.happens(0.5) ? a_moment() : a_while()); });
  repeat(troubles.store_slow, [this] { slow_down_store(); });
  repeat(troubles.worker_crash, [this] { any_worker().crash(); });
  repeat(troubles.worker_pause, [this] { any_worker().pause(a_while()); });
  repeat(troubles.worker_cut_off, [this] { any_worker().cut_off(a_while()); });
}

void Nemesis::repeat(Duration mean, std::function<void()> trouble) {
  if (mean == Duration::zero()) return;
  world_.events.after(world_.chance.around(mean), [this, mean, trouble = std::move(trouble)] {
    if (!world_.in_chaos()) return;
    trouble();
    repeat(mean, trouble);
  });
}

void Nemesis::start_store_outage(Duration length) {
  if (world_.store_is_down) return;
  world_.fault("the store is unreachable");
  world_.store_is_down = true;
  world_.record(StoreOutage{true});
  world_.events.after(length, [this] {
    world_.store_is_down = false;
    world_.record(StoreOutage{false});
  });
}

void Nemesis::start_short_outages() {
  world_.events.after(world_.plan.lease + world_.chance.around(world_.plan.lease * 2), [this] {
    if (!world_.is_flaky()) return;
    start_store_outage(a_moment());
    start_short_outages();
  });
}

void Nemesis::slow_down_store() {
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
