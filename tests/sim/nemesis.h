// Injects faults according to the plan.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "tests/sim/network.h"
#include "tests/sim/worker.h"

namespace horae::sim {

class Nemesis {
 public:
  Nemesis(World& world, Network& network, std::vector<std::unique_ptr<Worker>>& workers)
      : world_(world), network_(network), workers_(workers) {}

  void start();

  // Injects no more faults; paused and disconnected parts come back within kLongest leases.
  void stop();

  // Short outages of the store, for as long as the world is flaky: the next one comes after the workers are back.
  void start_short_outages();

  // Restarts nodes and workers in an orderly way, which must have no visible effect, until `world` is ending.
  void start_drains();

  static constexpr int kLongest = 4;  // in leases: the longest fault

 private:
  void repeat(Duration mean, std::function<void()> trouble);
  void start_store_outage(Duration length);
  void slow_down_store();
  Duration a_while() { return world_.chance.between(world_.plan.lease / 20, world_.plan.lease * kLongest); }
  // Of any length compared with the leases: from shorter than a third of the shortest to a third of the longest.
  Duration a_moment() { return world_.chance.between(world_.plan.lease / 100, world_.plan.lease / 3); }
  Worker& any_worker() { return *workers_[world_.chance.random().below(workers_.size())]; }

  World& world_;
  Network& network_;
  std::vector<std::unique_ptr<Worker>>& workers_;
};

}  // namespace horae::sim
