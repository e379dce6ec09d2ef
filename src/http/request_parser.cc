#include "http/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/quote.h"
#include "http/uri.h"

namespace horae {

namespace http = boost::beast::http;

namespace {

constexpr unsigned kHttp11 = 11;

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

// Beast sees no body in another encoding, and its bytes would be taken for the next request. HTTP/1.0 knows no encodings,
// so that a proxy of that age would see another end of the body.
std::string fault_of_encoding(const RequestParser::value_type& head) {
  const auto encodings = head.equal_range(http::field::transfer_encoding);
  const auto count = std::distance(encodings.first, encodings.second);
  if (count == 0) return {};
  if (head.version() < kHttp11) return "Transfer-Encoding: HTTP/1.0 has none; send Content-Length, or use HTTP/1.1";
  if (count == 1 && equals_ignoring_case(view(encodings.first->value()), "chunked")) return {};
  return "the only Transfer-Encoding supported is chunked; send the body chunked, or with Content-Length";
}

std::string fault_of_host(const RequestParser::value_type& head) {
  const auto hosts = head.equal_range(http::field::host);
  const auto count = std::distance(hosts.first, hosts.second);
  if (count > 1) return fmt::format("Host: it is given {} times; give it once", count);
  if (count == 0 && head.version() < kHttp11) return {};
  if (count == 0) return "Host: it is missing; give the host and port of the URL";
  const std::string_view host = view(hosts.first->value());
  if (parse_authority(host)) return {};
  return fmt::format("Host {}: give a name or an address, perhaps with a port, as in the URL", quote(host));
}

}  // namespace

void RequestParser::on_field_impl(http::field name, boost::beast::string_view name_text,
                                  boost::beast::string_view value, boost::system::error_code& /*error*/) {
  if (is_header_done()) return;
  get().insert(name, name_text, value);
}

bool has_folded_line(std::string_view head) {
  for (std::size_t end = head.find('\n'); end != std::string_view::npos; end = head.find('\n', end + 1)) {
    if (end + 1 < head.size() && (head[end + 1] == ' ' || head[end + 1] == '\t')) return true;
  }
  return false;
}

std::string fault_of_head(const RequestParser::value_type& head) {
  if (std::string fault = fault_of_encoding(head); !fault.empty()) return fault;
  if (std::string fault = fault_of_host(head); !fault.empty()) return fault;
  if (parse_target(view(head.target()))) return {};
  return fmt::format("target {}: give a path that begins with /, or an http URL", quote(view(head.target())));
}

void copy_head(const RequestParser::value_type& head, HttpRequest& request) {
  const Target target = parse_target(view(head.target())).value_or(Target());
  request.method = view(head.method_string());
  request.path = target.path;
  request.query = target.query;
  if (!target.authority.empty()) request.headers.push_back({"Host", std::string(target.authority)});
  for (const auto& field : head) {
    if (field.name() == http::field::host && !target.authority.empty()) continue;
    request.headers.push_back({std::string(view(field.name_string())), std::string(view(field.value()))});
  }
}

}  // namespace horae
