// The one who lets things go wrong, as the plan says.
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

  // Nothing goes wrong any more; what stands still or is cut off comes back within kLongest leases.
  void stop();

  // Restarts in good order, which nobody may notice, as long as `world` is not ending.
  void start_drains();

  static constexpr int kLongest = 4;  // in leases: how long one trouble lasts at most

 private:
  void again_and_again(Duration mean, std::function<void()> trouble);
  void take_store_away();
  void slow_store_down();
  Duration a_while() { return world_.chance.between(world_.plan.lease / 20, world_.plan.lease * kLongest); }
  Worker& any_worker() { return *workers_[world_.chance.random().below(workers_.size())]; }

  World& world_;
  Network& network_;
  std::vector<std::unique_ptr<Worker>>& workers_;
};

}  // namespace horae::sim
