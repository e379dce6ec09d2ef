// The parameters of a world, all derived from the seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace horae::sim {

// The rates of faults during chaos: the mean time between two faults (zero: never), or a share of calls or messages. Each
// world omits some of them, so that one kind of fault does not hide another.
struct Troubles {
  Duration node_crash{};
  Duration node_pause{};
  Duration node_cut_off{};  // from the store
  Duration node_clock_step{};
  Duration store_outage{};
  Duration store_slow{};
  Duration worker_crash{};
  Duration worker_pause{};
  Duration worker_cut_off{};  // from all nodes
  double message_lost = 0.0;
  double message_repeated = 0.0;
  double call_fails = 0.0;    // before the operation
  double call_unknown = 0.0;  // after the operation
  double call_crashes = 0.0;  // crashes its node, before or after the operation
  double door_is_full = 0.0;
};

struct Plan {
  std::uint64_t seed = 0;
  int nodes = 1;
  int workers = 1;
  int slots = 1;  // of each worker
  int node_slots = 1;
  Duration ahead_time{};  // of the nodes' slots; long in worlds whose nodes keep many tasks waiting
  Duration give_back{};
  int queues = 1;
  int recurring = 0;
  double drift = 0.0;            // of the nodes' clocks: at most this share
  Duration lease{};              // the longest; the unit for all times of this world
  std::vector<Duration> leases;  // of the workers
  Duration poll{};
  Duration work{};  // the mean of an attempt
  Duration submit_every{};
  Duration retention{};
  Duration chaos{};
  Duration flaky{};
  Duration calm{};
  Troubles troubles;
};

// `lives`: the approximate number of tasks.
Plan make_plan(std::uint64_t seed, std::uint64_t lives);

std::string describe(const Plan& plan);

}  // namespace horae::sim
