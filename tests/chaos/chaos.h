// Kills, pauses and disconnects nodes, PostgreSQL and workers at random, all of them real processes under load. The
// history checker (tests/sim/checker.h) then checks everything that was acknowledged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/clock.h"

namespace horae::testing {

struct ChaosOptions {
  std::string horae;   // the program
  std::string worker;  // chaos_worker
  Duration duration = std::chrono::seconds(20);
  std::uint64_t seed = 1;  // determines which failures happen when; their effect depends on the machine
  int nodes = 3;
  int workers = 3;
  std::string logs = "chaos-logs";  // the logs of the nodes are copied there after a violation
};

struct ChaosOutcome {
  std::vector<std::string> violations;
  std::size_t submitted = 0;
  std::size_t completed = 0;
  std::size_t unavailable = 0;  // calls that had to be repeated
  std::size_t attempts = 0;     // claimed
  int node_kills = 0;
  int node_pauses = 0;
  int worker_kills = 0;
  int worker_pauses = 0;
  int cuts = 0;         // of the cable between a node and PostgreSQL
  int worker_cuts = 0;  // of the cable between the workers and a node
  int outages = 0;      // of PostgreSQL
};

// Prints each failure on `log`, one per line. Call it on the main thread.
ChaosOutcome run_chaos(const ChaosOptions& options, std::ostream& log);

}  // namespace horae::testing
