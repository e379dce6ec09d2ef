// `horae agent run`.
#pragma once

#include <iosfwd>

#include "app/config.h"
#include "base/result.h"

namespace horae {

// Runs an agent until SIGTERM, SIGINT or lost contact, and returns its exit code: 0, 1 if main failed (the reason is on
// `err`), 4 after lost contact. Errors are of the configuration: nothing has been started. The process has no threads yet.
Result<int> run_agent(const Config& config, std::ostream& out, std::ostream& err);

}  // namespace horae
