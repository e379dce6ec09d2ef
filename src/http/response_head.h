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

// How a head goes out.
struct HeadOptions {
  bool keep_alive = true;
  bool is_tls = false;
  BodyEnd end = BodyEnd::kLength;
};

// Status line and headers, with the empty line after them. `now` is for Date. Thread-safe.
std::string response_head(const HttpResponse& response, std::uint64_t request, const HeadOptions& options, Instant now);

}  // namespace horae
