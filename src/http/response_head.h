// The status line and headers of an answer.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "http/message.h"

namespace horae {

// How the client finds the end of the body.
enum class BodyEnd {
  kLength,      // by Content-Length
  kLastChunk,   // chunked: each piece has its length, and an empty one is the last
  kConnection,  // the body ends with the connection
};

// Status line and headers, with the empty line after them. `now` is for Date. Thread-safe.
std::string response_head(const HttpResponse& response, std::uint64_t request, bool keep_alive, Instant now,
                          BodyEnd end = BodyEnd::kLength);

}  // namespace horae
