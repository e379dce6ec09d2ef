// The composition root of a node: what `horae serve` starts, and in which order it stops.
#pragma once

#include <iosfwd>

#include "base/result.h"

namespace horae {

// Runs a node until SIGINT or SIGTERM arrives. Tells people on `out` what it is and how to stop it.
//
// Call it once, from the main thread, before any other thread exists: it blocks the two signals for the whole process.
Result<void> serve(std::ostream& out);

}  // namespace horae
