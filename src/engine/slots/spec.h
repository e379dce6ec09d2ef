// Reads the specs of tasks that a node or an agent runs itself. All other specs are opaque.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace horae {

// The text under `name` in a spec that is a JSON object: read_spec_text(R"({"run":"sleep"})", "run") is "sleep". The
// last of several members with one name counts.
Result<std::string> read_spec_text(std::string_view spec, std::string_view name);

}  // namespace horae
