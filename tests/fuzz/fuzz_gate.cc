// Laws of the access gate, for any headers. The input is a line with the method, then lines of "Name: value".
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/access/gate.h"
#include "http/uri.h"
#include "laws.h"

namespace horae {
namespace {

constexpr std::string_view kSecret = "horae_0123456789abcdef_secret";

HttpRequest read_request(std::string_view text) {
  HttpRequest request;
  const auto lines = split(text, '\n');
  request.method = lines.front();
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t colon = lines[i].find(": ");
    if (colon == std::string_view::npos) continue;
    request.headers.push_back({std::string(lines[i].substr(0, colon)), std::string(lines[i].substr(colon + 2))});
  }
  return request;
}

Gate gate_with_one_token(bool require_token) {
  const auto find = [](std::string_view secret) {
    return secret == kSecret ? std::optional(Principal{.token_id = "0123", .role = Role::kRead}) : std::nullopt;
  };
  return Gate({.find_token = find}, {.require_token = require_token});
}

// A name that a site can own contains a letter, and is not one of this node's.
bool can_belong_to_a_site(std::string_view host) {
  const std::string_view name = host.substr(0, host.find(':'));
  return name.find_first_of("ghijkmpqruvwxyzGHIJKMPQRUVWXYZ") != std::string_view::npos && !host.starts_with("[") &&
         !equals_ignoring_case(name, "localhost");
}

// By another way than the gate: a port of digits is cut off, and what is left is compared.
bool is_exactly_local(std::string_view host) {
  const std::size_t colon = host.find_last_of(':');
  if (colon != std::string_view::npos && host.find_first_not_of("0123456789", colon + 1) == std::string_view::npos &&
      (host.find(']') == std::string_view::npos || host.find(']') < colon)) {
    host = host.substr(0, colon);
  }
  if (host.starts_with('['))
    return host.ends_with(']') && host.find_first_not_of("0123456789abcdefABCDEF:.", 1) == host.size() - 1;
  return equals_ignoring_case(host, "localhost") || host.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool came_through_proxy(const HttpRequest& request) {
  return std::ranges::any_of(request.headers, [](const HttpHeader& header) {
    return equals_ignoring_case(header.name, "Via") || equals_ignoring_case(header.name, "Forwarded") ||
           equals_ignoring_case(header.name, "X-Forwarded-For");
  });
}

void require_laws(const HttpRequest& request) {
  const std::string_view host = request.header("Host");
  if (can_belong_to_a_site(host)) HORAE_CHECK(!is_local_host(host), "a name of a site is not this machine's");
  if (is_local_host(host)) HORAE_CHECK(is_exactly_local(host), "what only begins like a local name is none");
  const std::string_view said = request.header("Authorization");
  for (const bool is_local : {true, false}) {
    for (const bool require_token : {true, false}) {
      HttpRequest tried = request;
      tried.is_local = is_local;
      const auto decision = gate_with_one_token(require_token).decide(tried, Access::kAdmin);
      if (decision.refusal) {
        require_good_refusal({ErrorCode::kMalformed, decision.refusal->detail});
        continue;
      }
      HORAE_CHECK(is_local && !require_token && said.empty(), "only callers on this machine are admin without a token");
      HORAE_CHECK(is_local_host(host), "no page of a site gets in through its own name");
      HORAE_CHECK(!is_from_another_site(request), "no page of another site gets in");
      HORAE_CHECK(!came_through_proxy(request), "a caller behind a proxy may be anywhere");
      const bool reads = gate_with_one_token(false).decide(tried, Access::kRead).refusal == std::nullopt;
      HORAE_CHECK(reads, "an admin may read");
    }
  }
  const auto decision = gate_with_one_token(true).decide(request, Access::kRead);
  if (!decision.refusal)
    HORAE_CHECK(said.ends_with(kSecret) && said.size() == 7 + kSecret.size(), "Bearer and a token");
}

}  // namespace
}  // namespace horae

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  horae::require_laws(horae::read_request(std::string_view(reinterpret_cast<const char*>(data), size)));
  return 0;
}
