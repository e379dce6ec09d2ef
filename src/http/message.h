// A request and its answer, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace horae {

inline constexpr std::string_view kJsonType = "application/json";

struct HttpHeader {
  std::string name;
  std::string value;
};

// A request that was read whole.
struct HttpRequest {
  std::uint64_t id = 0;  // unique within a server's life; also in the answer, as X-Request-Id
  std::string method;    // "GET", as the client wrote it
  std::string path;      // "/v1/tasks/a%2Fb": as the client wrote it, without the query
  std::string query;     // "limit=10&queue=mail": without the question mark
  std::vector<HttpHeader> headers;
  std::string body;
  std::string peer;      // "127.0.0.1:50312"
  bool is_local = true;  // it came in at an address that only this machine can reach
  bool is_tls = false;   // it came in encrypted

  // The value of the first header with that name in any case; empty if there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = std::string(kJsonType);
  std::string body;
  std::vector<HttpHeader> headers = {};  // beyond those that the server writes itself
};

// "Not Found" for 404.
std::string_view reason_of(int status);

// True if the two are the same but for the case of ASCII letters.
bool equals_ignoring_case(std::string_view one, std::string_view other);

}  // namespace horae
