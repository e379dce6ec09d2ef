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
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"
#include "model/settle.h"

namespace horae {

inline constexpr std::string_view kProblemType = "application/problem+json";
inline constexpr int kRetryAfterSeconds = 1;  // said with 429 and 503 if nobody knows better

struct ProblemKind {
  std::string_view name;  // the end of the `type`: "urn:horae:problem:" + name
  int status;
  std::string_view title;
};

// All that there are, for the documentation.
std::span<const ProblemKind> problem_kinds();

// The kind with that name, which exists.
const ProblemKind& problem_kind(std::string_view name);

// What an error of the store or a check is called.
const ProblemKind& problem_kind(ErrorCode code);

// What a refused settlement or cancel is called. The verdict is no success.
const ProblemKind& problem_kind(Verdict verdict);

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
