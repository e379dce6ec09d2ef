// `horae serve`: the composition root.
#pragma once

#include <iosfwd>

#include "app/config.h"
#include "base/result.h"

namespace horae {

// Runs a node until SIGINT or SIGTERM arrives. Tells people on `out` what to open and how to stop it, and logs to
// `log`. With `demo` it submits a small workload and prints what happens to it.
//
// Call it once, from the main thread, before any other thread exists: it blocks the two signals for the whole process.
Result<void> serve(const Config& config, bool demo, std::ostream& out, std::ostream& log);

}  // namespace horae
