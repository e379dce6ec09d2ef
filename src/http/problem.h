// Errors as clients see them: problem details (RFC 9457).
//
//   {"type":"urn:horae:problem:stale_attempt","title":"Another attempt holds the task","status":409,
//    "detail":"task 0190f7c2-...: cannot complete attempt 2 of worker-7: ...","retryable":false,
//    "instance":"urn:horae:request:17"}
//
// Programs decide by `type`, whose meaning never changes; people read `detail`, which says what was tried, on which id,
// and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace horae {

inline constexpr std::string_view kProblemType = "application/problem+json";
inline constexpr int kRetryAfterSeconds = 1;  // with 429 and 503, unless the caller gives another

struct ProblemKind {
  std::string_view name;  // the end of the `type`: "urn:horae:problem:" + name
  int status;
  std::string_view title;
};

// The kind with that name. These are the kinds of any HTTP service; those of tasks are in api/problems.h.
const ProblemKind& problem_kind(std::string_view name);

// The kind for an error of a store or of a check.
const ProblemKind& problem_kind(ErrorCode code);

struct Problem {
  const ProblemKind& kind;
  std::string detail;
  std::uint64_t request = 0;  // its id; 0 if unknown
  int retry_after_seconds = kRetryAfterSeconds;
};

// Appends the document.
void append_problem(std::string& out, const Problem& problem);

// The complete answer, with Retry-After where the same request may succeed later.
HttpResponse problem_response(const Problem& problem);

// 503, for a request that ended with std::bad_alloc.
HttpResponse out_of_memory_response(std::uint64_t request);

}  // namespace horae
