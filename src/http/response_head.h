// The status line and headers of an answer.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "http/message.h"

namespace horae {

// All that stands before the body, with the length of the body that `response` holds. `now` is for the Date.
//
// Threads: any at once.
std::string response_head(const HttpResponse& response, std::uint64_t request, bool keep_alive, Instant now);

}  // namespace horae
