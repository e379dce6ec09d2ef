// Errors as clients see them: problem details (RFC 9457).
//
//   {"type":"urn:horae:problem:stale_attempt","title":"Another attempt holds the task","status":409,
//    "detail":"task 0190f7c2-...: cannot complete attempt 2 of worker-7: ...","retryable":false,
//    "instance":"urn:horae:request:17"}
//
// A program decides by `type`, which never changes its meaning; a person reads `detail`, which says what was tried, on
// which id, and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace horae {

inline constexpr std::string_view kProblemType = "application/problem+json";
inline constexpr int kRetryAfterSeconds = 1;  // said with 429 and 503 if nobody knows better

struct ProblemKind {
  std::string_view name;  // the end of the `type`: "urn:horae:problem:" + name
  int status;
  std::string_view title;
};

// The kind with that name, which is one that any HTTP service has; api/problems.h has those of tasks.
const ProblemKind& problem_kind(std::string_view name);

// The kind of an error of the store or of a check.
const ProblemKind& problem_kind(ErrorCode code);

struct Problem {
  const ProblemKind& kind;
  std::string detail;
  std::uint64_t request = 0;  // its id, if known
  int retry_after_seconds = kRetryAfterSeconds;
};

// The document.
void append_problem(std::string& out, const Problem& problem);

// The whole answer, with Retry-After where the same request may succeed later.
HttpResponse problem_response(const Problem& problem);

}  // namespace horae
