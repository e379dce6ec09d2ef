#include "http/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>

#include "base/quote.h"

namespace horae {
namespace {

constexpr std::string_view kPlainScheme = "http://";
constexpr std::string_view kTlsScheme = "https://";
constexpr std::string_view kLoopback = "127.0.0.1";

Error bad(std::string why) { return {ErrorCode::kMalformed, std::move(why)}; }

std::optional<bool> take_scheme(std::string_view& text) {
  for (const std::string_view scheme : {kPlainScheme, kTlsScheme}) {
    if (!text.starts_with(scheme)) continue;
    text.remove_prefix(scheme.size());
    return scheme == kTlsScheme;
  }
  return std::nullopt;
}

std::optional<std::uint16_t> parse_port(std::string_view digits) {
  std::uint16_t port = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  return port;
}

// Nothing if it is not a numeric address.
std::optional<bool> is_loopback(const std::string& address) {
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, address.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  if (inet_pton(AF_INET6, address.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  return std::nullopt;
}

Result<void> check_one(const std::string& text, const HttpServerOptions& options) {
  const auto address = parse_listen_address(text);
  if (!address.ok()) {
    return bad(fmt::format("http.listen {}: {}; write 3369, 127.0.0.1:3369, [::1]:3369 or https://0.0.0.0:3369",
                           quote(text), address.error().message));
  }
  if (wants_tls(*address, options)) {
    if (!options.tls.certificate.empty()) return {};
    if (address->is_loopback) {
      return Error{ErrorCode::kRefused,
                   fmt::format("http.listen {}: give http.tls_certificate and http.tls_key", quote(text))};
    }
  } else if (address->is_loopback || options.plaintext_behind_proxy) {
    return {};
  }
  return Error{ErrorCode::kRefused,
               fmt::format("http.listen {}: is open to other machines: give http.tls_certificate and http.tls_key{}; "
                           "or, if a proxy in front of the node encrypts, set http.plaintext_behind_proxy = true",
                           quote(text), address->says_tls == false ? " and write https://" : "")};
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  ListenAddress result;
  result.says_tls = take_scheme(text);
  const std::size_t colon = text.rfind(':');
  const bool has_host = colon != std::string_view::npos;
  const auto port = parse_port(has_host ? text.substr(colon + 1) : text);
  if (!port) return bad("has no port between 0 and 65535");
  result.port = *port;
  std::string_view host = has_host ? text.substr(0, colon) : kLoopback;
  if (host == "localhost") host = kLoopback;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad("has an IPv6 address without brackets");
  }
  result.address = std::string(host);
  const auto loopback = is_loopback(result.address);
  if (!loopback) return bad("has no numeric address before the port");
  result.is_loopback = *loopback;
  return result;
}

bool wants_tls(const ListenAddress& address, const HttpServerOptions& options) {
  if (address.says_tls) return *address.says_tls;
  if (address.is_loopback) return false;
  return !options.plaintext_behind_proxy || !options.tls.certificate.empty();
}

Result<void> check_exposure(const HttpServerOptions& options) {
  if (options.tls.certificate.empty() != options.tls.key.empty()) {
    return Error{ErrorCode::kRefused, "http.tls_certificate and http.tls_key belong together: give both, or none"};
  }
  for (const std::string& text : options.listen) {
    if (auto checked = check_one(text, options); !checked.ok()) return checked;
  }
  return {};
}

}  // namespace horae
