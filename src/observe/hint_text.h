// Hints as text, for their way between nodes: "2 0190f7c2-0a1b-7c3d-8e4f-0123456789ab mail".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "observe/event_ring.h"

namespace horae {

std::string format_hint(const Hint& hint);

// Nothing for what is no hint: another version may say more than this one knows.
std::optional<Hint> parse_hint(std::string_view text);

}  // namespace horae
