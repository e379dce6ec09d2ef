#include "http/message.h"

#include <algorithm>
#include <array>
#include <utility>

namespace horae {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr std::array kReasons = {
    std::pair{100, "Continue"},
    std::pair{200, "OK"},
    std::pair{201, "Created"},
    std::pair{204, "No Content"},
    std::pair{302, "Found"},
    std::pair{400, "Bad Request"},
    std::pair{401, "Unauthorized"},
    std::pair{403, "Forbidden"},
    std::pair{404, "Not Found"},
    std::pair{405, "Method Not Allowed"},
    std::pair{408, "Request Timeout"},
    std::pair{409, "Conflict"},
    std::pair{413, "Content Too Large"},
    std::pair{414, "URI Too Long"},
    std::pair{415, "Unsupported Media Type"},
    std::pair{422, "Unprocessable Content"},
    std::pair{429, "Too Many Requests"},
    std::pair{431, "Request Header Fields Too Large"},
    std::pair{500, "Internal Server Error"},
    std::pair{503, "Service Unavailable"},
};

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  const auto found =
      std::ranges::find_if(headers, [&](const HttpHeader& header) { return equals_ignoring_case(header.name, name); });
  return found == headers.end() ? std::string_view() : found->value;
}

std::string_view reason_of(int status) {
  const auto* const found = std::ranges::find(kReasons, status, [](const auto& reason) { return reason.first; });
  return found == kReasons.end() ? "Unknown" : found->second;
}

bool equals_ignoring_case(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, {}, lower, lower);
}

}  // namespace horae
