// A simulated node with a relay: the production loops between a faulty store and a faulty broker.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "engine/relay/relay.h"
#include "engine/relay/relay_set.h"
#include "tests/sim/delay/broker.h"
#include "tests/sim/delay/messages.h"
#include "tests/sim/node.h"

namespace horae::sim {

// One run of a node, from start to end.
class RelayLife;

class RelayNode {
 public:
  RelayNode(World& world, Broker& broker, DelayLedger& ledger, const DelayPlan& plan, int index);
  ~RelayNode();

  bool is_up() const { return life_ != nullptr; }
  void start();
  void crash();
  void drain();  // stops orderly, and starts again
  void pause(Duration time);
  void cut_off(Duration time);  // from the store

  // Puts a message; false if it is not known to be stored.
  bool put(const NewMessage& message);

  // What the output refuses.
  std::function<bool(MessageNumber)> refuses = [](MessageNumber) { return false; };

 private:
  friend class RelayLife;

  void end_life(Duration until_restart);
  void check_drained(const std::shared_ptr<RelayLife>& life, Instant deadline);

  World& world_;
  Broker& broker_;
  DelayLedger& ledger_;
  const DelayPlan& plan_;
  const int index_;
  NodeClock clock_;
  Instant paused_until_;
  Instant cut_off_until_;
  std::shared_ptr<RelayLife> life_;
};

}  // namespace horae::sim
