// The parts of a request's target, and of Host.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace horae {

// "a//b" at '/' is "a", "", "b".
std::vector<std::string_view> split(std::string_view text, char at);

// "a%2Fb" is "a/b". Nothing for a bad escape, or if the result is not UTF-8 or contains NUL.
std::optional<std::string> decode_percent(std::string_view text, bool plus_is_space);

// The server that a URL or a Host header names.
struct Authority {
  std::string_view host;  // a name, an IPv4 address or an IPv6 address in brackets; may be empty
  std::string_view port;  // digits; may be empty
};

// Parses "localhost:3369", "[::1]", "127.0.0.1:". Nothing for what is not exactly that (RFC 3986, section 3.2), also for
// a user before the host.
std::optional<Authority> parse_authority(std::string_view text);

// True for four numbers, "127.0.0.1", which no name of a site can look like.
bool is_ipv4_address(std::string_view host);

// The target of a request line.
struct Target {
  std::string_view authority;  // in absolute form only: "localhost:3369"
  std::string_view path;       // as sent, "/" if the absolute form has none; "*" in asterisk form
  std::string_view query;      // without the question mark
};

// Nothing if it has another form than "/path?query", "http://host/path?query" (or https) or "*".
std::optional<Target> parse_target(std::string_view target);

}  // namespace horae
