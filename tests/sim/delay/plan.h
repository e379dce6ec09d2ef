// The parameters of a world with a delay queue, all derived from the seed.
#pragma once

#include <cstdint>
#include <string>

#include "engine/relay/relay_options.h"
#include "tests/sim/plan.h"

namespace horae::sim {

struct DelayPlan {
  Plan base;  // nodes, faults of nodes and of the store; its `lease` is the hold time
  RelayOptions relay;
  int partitions = 1;
  bool has_dead_letters = true;
  Duration send_every{};
  Duration longest_delay{};

  // Shares of what is sent.
  double late = 0.0;
  double repeated = 0.0;  // under the id of a recent one
  double bad = 0.0;
  double refused = 0.0;  // by the output
  double put = 0.0;      // not by the input, but into the store
  double rearmed = 0.0;  // sent again on receipt, several times
  double cancelled = 0.0;
  double moved = 0.0;

  // Faults of the broker during chaos: mean times between them, or shares of publishes.
  Duration broker_outage{};
  Duration rebalance{};
  double publish_fails = 0.0;
  double acknowledgement_lost = 0.0;
  double sink_full = 0.0;
};

// `messages`: the approximate number of them.
DelayPlan make_delay_plan(std::uint64_t seed, std::uint64_t messages);

std::string describe(const DelayPlan& plan);

}  // namespace horae::sim
