// Runs one world with a delay queue.
#pragma once

#include <iosfwd>

#include "tests/sim/delay/plan.h"
#include "tests/sim/run.h"

namespace horae::sim {

// `lives` of the report: messages.
RunReport run_delay_world(const DelayPlan& plan, std::ostream* trace = nullptr);

}  // namespace horae::sim
