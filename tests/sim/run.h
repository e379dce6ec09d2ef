// Runs one world and checks its history.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "tests/sim/checker.h"
#include "tests/sim/plan.h"

namespace horae::sim {

struct RunReport {
  std::vector<Violation> violations;
  std::uint64_t lives = 0;  // tasks
  std::uint64_t turns = 0;  // of recurring tasks, beyond their first
  std::uint64_t faults = 0;
  std::uint64_t events = 0;
  Duration time{};  // virtual
};

// Writes every event to `trace`, if given.
RunReport run_world(const Plan& plan, std::ostream* trace = nullptr);

}  // namespace horae::sim
