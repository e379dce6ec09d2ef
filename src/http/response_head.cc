#include "http/response_head.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <iterator>

namespace horae {
namespace {

// For a year, browsers come back with TLS only (RFC 6797), so that no token travels in plain text. Not for subdomains,
// of which this node knows nothing.
constexpr std::string_view kStayWithTls = "Strict-Transport-Security: max-age=31536000\r\n";

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(std::chrono::sys_seconds second) {
  static constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(second);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(second - day);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[std::chrono::weekday(day).c_encoding()],
                     static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
                     static_cast<int>(date.year()), time.hours().count(), time.minutes().count(),
                     time.seconds().count());
}

// Cached: the text is the same for all answers of one second.
const std::string& date_text(Instant now) {
  thread_local std::chrono::sys_seconds second{};
  thread_local std::string text;
  const auto this_second = std::chrono::floor<std::chrono::seconds>(now);
  if (text.empty() || this_second != second) {
    second = this_second;
    text = http_date(second);
  }
  return text;
}

// The headers for the type and the end of the body. A 204 has no body and must not have them.
std::string body_headers(const HttpResponse& response, BodyEnd end) {
  if (response.status == 204) return "";
  std::string type = fmt::format("Content-Type: {}\r\n", response.content_type);
  switch (end) {
    case BodyEnd::kLength:
      return type + fmt::format("Content-Length: {}\r\n", response.content().size());
    case BodyEnd::kLastChunk:
      return type + "Transfer-Encoding: chunked\r\n";
    case BodyEnd::kConnection:
      return type;
  }
  return type;
}

}  // namespace

std::string response_head(const HttpResponse& response, std::uint64_t request, const HeadOptions& options,
                          Instant now) {
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nServer: horae\r\nDate: {}\r\n{}"
      "X-Content-Type-Options: nosniff\r\nX-Request-Id: {}\r\nConnection: {}\r\n{}",
      response.status, reason_of(response.status), date_text(now), body_headers(response, options.end), request,
      options.keep_alive ? "keep-alive" : "close", options.is_tls ? kStayWithTls : "");
  for (const HttpHeader& header : response.headers) head += header.name + ": " + header.value + "\r\n";
  return head + "\r\n";
}

}  // namespace horae
