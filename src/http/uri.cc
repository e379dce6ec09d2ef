#include "http/uri.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "http/message.h"

namespace horae {
namespace {

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// ---- Authority ----

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// unreserved and sub-delims of RFC 3986.
bool is_name_character(char c) {
  constexpr std::string_view kMarks = "-._~!$&'()*+,;=";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || kMarks.find(c) != std::string_view::npos;
}

bool is_name(std::string_view host) {
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (is_name_character(host[i])) continue;
    if (host[i] != '%' || i + 2 >= host.size() || !hex_digit(host[i + 1]) || !hex_digit(host[i + 2])) return false;
    i += 2;
  }
  return true;
}

// inet_pton() needs text with an end.
bool is_address(int family, std::string_view host) {
  constexpr std::size_t kLongest = 45;  // "0000:0000:0000:0000:0000:ffff:255.255.255.255"
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  if (host.size() > kLongest || host.find('\0') != std::string_view::npos) return false;
  return inet_pton(family, std::string(host).c_str(), bytes.data()) == 1;
}

bool is_port(std::string_view port) {
  constexpr int kHighest = 65535;
  int value = 0;
  for (const char c : port) {
    if (!is_digit(c)) return false;
    value = value * 10 + (c - '0');
    if (value > kHighest) return false;
  }
  return true;
}

// The rest after the scheme; nothing without one.
std::optional<std::string_view> after_scheme(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (equals_ignoring_case(target.substr(0, scheme.size()), scheme)) return target.substr(scheme.size());
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::string> decode_percent(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
      const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
      if (!high || !low) return std::nullopt;
      out += static_cast<char>(*high * 16 + *low);
      i += 2;
    }
  }
  if (!is_text(out)) return std::nullopt;
  return out;
}

std::optional<Authority> parse_authority(std::string_view text) {
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return std::nullopt;
  const std::size_t end = std::min(text.find(':', bracket), text.size());
  const std::string_view host = text.substr(0, end);
  const std::string_view port = text.substr(std::min(end + 1, text.size()));
  const bool is_ipv6 = host.size() > 2 && host.front() == '[' && host.back() == ']' &&
                       is_address(AF_INET6, host.substr(1, host.size() - 2));
  if (!is_port(port) || !(is_ipv6 || is_name(host))) return std::nullopt;
  return Authority{.host = host, .port = port};
}

bool is_ipv4_address(std::string_view host) { return is_address(AF_INET, host); }

std::optional<Target> parse_target(std::string_view target) {
  Target parts;
  if (const auto rest = after_scheme(target)) {
    const std::size_t end = std::min(rest->find_first_of("/?"), rest->size());
    parts.authority = rest->substr(0, end);
    const auto authority = parse_authority(parts.authority);
    if (!authority || authority->host.empty()) return std::nullopt;
    target = rest->substr(end);
    parts.path = "/";
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  if (question > 0) parts.path = target.substr(0, question);
  if (question < target.size()) parts.query = target.substr(question + 1);
  if (!parts.path.starts_with('/') && target != "*") return std::nullopt;
  return parts;
}

}  // namespace horae
