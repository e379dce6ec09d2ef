#include "http/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/json_text.h"

namespace horae {
namespace {

constexpr std::array kKinds = {
    ProblemKind{"malformed", 400, "The request cannot be parsed"},
    ProblemKind{"not_http", 400, "This is not HTTP"},
    ProblemKind{"unauthenticated", 401, "Authentication is required"},
    ProblemKind{"forbidden", 403, "This is not allowed"},
    ProblemKind{"not_found", 404, "It does not exist"},
    ProblemKind{"no_such_path", 404, "No route has this path"},
    ProblemKind{"method_not_allowed", 405, "The path does not support this method"},
    ProblemKind{"too_slow", 408, "The request took too long to arrive"},
    ProblemKind{"conflict", 409, "It conflicts with an existing one"},
    ProblemKind{"body_too_large", 413, "The body is too large"},
    ProblemKind{"target_too_long", 414, "The path and query are too long"},
    ProblemKind{"unsupported_media_type", 415, "The body is not sent as JSON"},
    ProblemKind{"refused", 422, "A value is not allowed"},
    ProblemKind{"over_limit", 429, "A limit is reached"},
    ProblemKind{"head_too_large", 431, "The headers are too large"},
    ProblemKind{"internal", 500, "Internal error"},
    ProblemKind{"unavailable", 503, "Temporarily unavailable"},
    ProblemKind{"busy", 503, "The node is overloaded"},
};

}  // namespace

const ProblemKind& problem_kind(std::string_view name) {
  const auto* const found = std::ranges::find(kKinds, name, &ProblemKind::name);
  HORAE_CHECK(found != kKinds.end(), "the name of a problem is in the table");
  return *found;
}

HttpResponse out_of_memory_response(std::uint64_t request) {
  return problem_response({.kind = problem_kind("busy"),
                           .detail = "this node has no memory for this request; retry later, or ask for less",
                           .request = request});
}

const ProblemKind& problem_kind(ErrorCode code) { return problem_kind(to_string(code)); }

void append_problem(std::string& out, const Problem& problem) {
  const ProblemKind& kind = problem.kind;
  const bool retryable = kind.status == 429 || kind.status == 503 || kind.status == 408;
  out += fmt::format(R"({{"type":"urn:horae:problem:{}","title":"{}","status":{},"detail":)", kind.name, kind.title,
                     kind.status);
  append_json_string(out, problem.detail);
  out += retryable ? R"(,"retryable":true)" : R"(,"retryable":false)";
  if (problem.request != 0) out += fmt::format(R"(,"instance":"urn:horae:request:{}")", problem.request);
  out += '}';
}

HttpResponse problem_response(const Problem& problem) {
  HttpResponse response{.status = problem.kind.status, .content_type = std::string(kProblemType)};
  append_problem(response.body, problem);
  if (response.status == 429 || response.status == 503) {
    response.headers.push_back({"Retry-After", std::to_string(problem.retry_after_seconds)});
  }
  response.headers.push_back({"Cache-Control", "no-store"});  // caches may keep a 404 or 405 otherwise
  if (response.status == 401) response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

}  // namespace horae
