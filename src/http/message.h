// A request and its answer, as plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace horae {

inline constexpr std::string_view kJsonType = "application/json";

struct HttpHeader {
  std::string name;
  std::string value;
};

// A complete request.
struct HttpRequest {
  std::uint64_t id = 0;  // unique within a server's life; also in the answer, as X-Request-Id
  std::string method;    // "GET", as sent
  std::string path;      // "/v1/tasks/a%2Fb": as sent, without the query
  std::string query;     // "limit=10&queue=mail": without the question mark
  std::vector<HttpHeader> headers;
  std::string body;
  std::string peer;                     // "127.0.0.1:50312"
  bool is_local = true;                 // received at a loopback address
  bool is_tls = false;                  // received over TLS
  std::shared_ptr<void> admitted = {};  // Admission::admitted

  // The value of the first header with that name, ignoring case; empty if absent.
  std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = std::string(kJsonType);
  std::string body;
  std::vector<HttpHeader> headers = {};  // in addition to those that the server writes itself

  // Instead of `body`, for what many answers share: it is not copied, and does not count as held for a caller.
  std::shared_ptr<const std::string> shared_body = {};

  const std::string& content() const { return shared_body ? *shared_body : body; }
};

// "Not Found" for 404.
std::string_view reason_of(int status);

// Ignores the case of ASCII letters only.
bool equals_ignoring_case(std::string_view one, std::string_view other);

}  // namespace horae
