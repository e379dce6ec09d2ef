// A worker that takes its tasks from any node over the network, as a REST client would.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/network.h"

namespace horae::sim {

// It asks for tasks while it has room, at times under a token of its own until it is answered, beats for each one, and
// says how each ended until somebody has heard it. It may die, stand still past its leases and go on as if nothing had
// happened, be cut off, or leave in good order.
class Worker {
 public:
  Worker(World& world, Network& network) : world_(world), network_(network) {}

  void start();
  void crash();
  void pause(Duration time);
  void cut_off(Duration time);
  void drain();  // ends what it has begun, and starts again under a new id
  void heal();

 private:
  using RunKey = std::pair<TaskId, int>;
  struct Run {
    LeasedTask task;
    bool is_ending = false;
  };

  void register_again();
  void ask_for_tasks();
  void ask(const ClaimWish& wish);
  void take(Result<std::vector<LeasedTask>> tasks);
  void begin(const LeasedTask& task);
  void beat(const RunKey& key);
  void finish(const RunKey& key);
  void tell(const RunKey& key, const Settlement& end);
  void forget(const RunKey& key);
  void leave_if_done();

  Settlement settlement(Event event, const LeasedTask& task) const;
  Settlement draw_end(const LeasedTask& task);
  Duration soon() { return world_.chance.between(world_.plan.lease / 40, world_.plan.lease / 20); }

  World& world_;
  Network& network_;
  Peer peer_;
  std::string id_;
  std::map<RunKey, Run> runs_;
  bool is_asking_ = false;
  bool has_own_token_ = false;  // for what it asks
  bool is_draining_ = false;
};

}  // namespace horae::sim
