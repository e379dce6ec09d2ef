// Three nodes, PostgreSQL and workers as real processes under load, killed, paused and cut off at random; what they
// were told is judged by the checker of histories (tests/sim/checker.h).
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
  std::uint64_t seed = 1;  // of what is done when; what comes of it is up to the machine
  int nodes = 3;
  int workers = 3;
  std::string logs = "chaos-logs";  // where the logs of the nodes are kept if something is wrong
};

struct ChaosOutcome {
  std::vector<std::string> violations;
  std::size_t submitted = 0;
  std::size_t completed = 0;
  std::size_t away = 0;      // calls that had to be repeated
  std::size_t attempts = 0;  // claimed
  int node_kills = 0;
  int node_pauses = 0;
  int worker_kills = 0;
  int worker_pauses = 0;
  int cuts = 0;         // of the wire between a node and PostgreSQL
  int worker_cuts = 0;  // of the wire between the workers and a node
  int outages = 0;      // of PostgreSQL
};

// What happens goes to `log`, a line each. On the main thread.
ChaosOutcome run_chaos(const ChaosOptions& options, std::ostream& log);

}  // namespace horae::testing
