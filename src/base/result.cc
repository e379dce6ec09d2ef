#include "base/result.h"

namespace horae {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kMalformed:
      return "malformed";
    case ErrorCode::kRefused:
      return "refused";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kUnauthenticated:
      return "unauthenticated";
    case ErrorCode::kForbidden:
      return "forbidden";
    case ErrorCode::kOverLimit:
      return "over_limit";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kInternal:
      return "internal";
  }
  check_failed("code", __FILE__, __LINE__, "an error code outside the enumeration");
}

bool is_retryable(ErrorCode code) { return code == ErrorCode::kOverLimit || code == ErrorCode::kUnavailable; }

void value_of_failure_taken(const Error& error) { check_failed("ok()", __FILE__, __LINE__, error.message); }

}  // namespace horae
