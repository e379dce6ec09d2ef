// The status line and headers of an answer.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "http/message.h"

namespace horae {

// How the client learns where the body ends.
enum class BodyEnd {
  kLength,      // by the length of the body that the response holds
  kLastChunk,   // pieces follow, each with its length, and an empty one is the last
  kConnection,  // pieces follow until the connection ends
};

// All that stands before the body. `now` is for the Date.
//
// Threads: any at once.
std::string response_head(const HttpResponse& response, std::uint64_t request, bool keep_alive, Instant now,
                          BodyEnd end = BodyEnd::kLength);

}  // namespace horae
