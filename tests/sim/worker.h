// A worker that claims its tasks from any node over the network, like a REST client.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/network.h"

namespace horae::sim {

// Claims tasks while it has free slots (sometimes under a token of its own, which it repeats until it gets a response),
// sends heartbeats for each, and repeats each settlement until it is acknowledged; often it claims in the call that
// settles. It may crash, be paused past its leases
// and continue unaware, lose its network, or drain.
class Worker {
 public:
  Worker(World& world, Network& network, Duration lease) : world_(world), network_(network), lease_(lease) {}

  void start();
  void crash();
  void pause(Duration time);
  void cut_off(Duration time);
  void drain();  // finishes its tasks, then starts again under a new id
  void heal();

 private:
  using RunKey = std::pair<TaskId, int>;
  struct Run {
    LeasedTask task;
    bool is_ending = false;
  };

  void register_again();
  void claim_tasks();
  void claim(const ClaimWish& wish);
  void take(Result<std::vector<LeasedTask>> tasks);
  void begin(const LeasedTask& task);
  void beat(const RunKey& key);
  void finish(const RunKey& key);
  void send_end(const RunKey& key, const Settlement& end, const std::optional<ClaimWish>& next = std::nullopt);
  std::optional<ClaimWish> next_claim();
  ClaimWish new_wish(int room);
  void forget(const RunKey& key);
  void restart_if_drained();

  Settlement settlement(Event event, const LeasedTask& task) const;
  Settlement draw_end(const LeasedTask& task);
  Duration soon() { return world_.chance.between(lease_ / 40, lease_ / 20); }

  World& world_;
  Network& network_;
  const Duration lease_;  // of its tasks
  Peer peer_;
  std::string id_;
  std::map<RunKey, Run> runs_;
  bool is_claiming_ = false;
  bool has_own_token_ = false;  // for the claim in progress
  bool is_draining_ = false;
};

}  // namespace horae::sim
