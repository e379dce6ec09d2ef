#include "api/access/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quote.h"
#include "http/uri.h"

namespace horae {
namespace {

constexpr std::string_view kBearer = "Bearer ";

Gate::Decision refuse(const Error& error, Principal principal = {}) {
  return {.principal = std::move(principal),
          .refusal = Problem{.kind = problem_kind(error.code), .detail = error.message}};
}

// `who` is over a limit: "token t-1 exceeds its rate limit".
Gate::Decision refuse_for(Duration wait, std::string_view who, Principal principal = {}) {
  const auto seconds = std::max(1, static_cast<int>(std::ceil(std::chrono::duration<double>(wait).count())));
  Problem problem{.kind = problem_kind("over_limit"),
                  .detail = fmt::format("{}; retry in {} s", who, seconds),
                  .retry_after_seconds = seconds};
  return {.principal = std::move(principal), .refusal = std::move(problem)};
}

bool begins_with(std::string_view text, std::string_view start) {
  return equals_ignoring_case(text.substr(0, start.size()), start);
}

// The header by which a proxy says that it passes on a request of another client; null if there is none.
const HttpHeader* header_of_proxy(const HttpRequest& request) {
  const auto found = std::ranges::find_if(request.headers, [](const HttpHeader& header) {
    return equals_ignoring_case(header.name, "Forwarded") || equals_ignoring_case(header.name, "Via") ||
           equals_ignoring_case(header.name, "X-Real-IP") || begins_with(header.name, "X-Forwarded-");
  });
  return found == request.headers.end() ? nullptr : &*found;
}

std::string_view need_of(Access access) {
  switch (access) {
    case Access::kAdmin:
      return "admin";
    case Access::kSubmit:
      return "submit or admin";
    case Access::kWork:
      return "work or admin";
    case Access::kOpen:
    case Access::kRead:
      return "any";
  }
  return "admin";
}

}  // namespace

bool is_local_host(std::string_view host) {
  const auto authority = parse_authority(host);
  if (!authority) return false;
  const std::string_view name = authority->host;
  return name.empty() || name.starts_with('[') || equals_ignoring_case(name, "localhost") || is_ipv4_address(name);
}

bool is_from_another_site(const HttpRequest& request) {
  if (request.method == "GET" || request.method == "HEAD") return false;
  if (request.header("Sec-Fetch-Site") == "cross-site") return true;
  const std::string_view origin = request.header("Origin");
  if (origin.empty()) return false;
  const std::size_t scheme = origin.find("://");
  return scheme == std::string_view::npos || origin.substr(scheme + 3) != request.header("Host");
}

Gate::Decision Gate::decide(const HttpRequest& request, Access access) const {
  if (is_from_another_site(request)) {
    return refuse({ErrorCode::kForbidden,
                   "this request comes from a page of another site; call from a program, or from a page of this node"});
  }
  if (access == Access::kOpen) return {};
  if (const auto wait = wait_of_a_guesser(request)) {
    return refuse_for(*wait, "this address has sent too many unknown tokens, so none of its tokens is looked up");
  }
  auto principal = identify(request);
  if (!principal.ok()) return refuse(principal.error());
  // Before the role is checked: refused calls count as well.
  if (parts_.throttle && !principal->token_id.empty()) {
    if (const auto wait = parts_.throttle(principal->token_id)) {
      const std::string who = fmt::format("token {} exceeds its rate limit", principal->token_id);
      return refuse_for(*wait, who, std::move(*principal));
    }
  }
  if (!may(principal->role, access)) {
    const Error error{ErrorCode::kForbidden, fmt::format("token {} has the role {}; this needs {}", principal->token_id,
                                                         to_string(principal->role), need_of(access))};
    return refuse(error, std::move(*principal));
  }
  return {.principal = std::move(*principal), .refusal = std::nullopt};
}

std::optional<Duration> Gate::wait_of_a_guesser(const HttpRequest& request) const {
  if (parts_.guesses == nullptr || !options_.peers_are_callers || request.header("Authorization").empty()) return {};
  return parts_.guesses->wait(request.peer);
}

Result<Principal> Gate::identify(const HttpRequest& request) const {
  const std::string_view said = request.header("Authorization");
  if (said.empty()) {
    if (!request.is_local || options_.require_token) {
      return Error{
          ErrorCode::kUnauthenticated,
          "give a token (Authorization: Bearer horae_...; on the command line: HORAE_TOKEN). An admin creates one "
          "with `horae token create`; create the first with --offline, on SQLite while the node is stopped"};
    }
    if (const HttpHeader* const header = header_of_proxy(request)) {
      return Error{
          ErrorCode::kUnauthenticated,
          fmt::format("header {}: this request came through a proxy, so its caller may be on another machine: give a "
                      "token (Authorization: Bearer horae_...), and set http.plaintext_behind_proxy = true at a "
                      "node behind a proxy; a proxy of the caller's own must leave localhost out",
                      quote(header->name, 32))};
    }
    if (!is_local_host(request.header("Host"))) {
      return Error{ErrorCode::kForbidden, fmt::format("Host {}: without a token, use localhost or the numeric address",
                                                      quote(request.header("Host")))};
    }
    return Principal{};
  }
  if (said.size() < kBearer.size() || !equals_ignoring_case(said.substr(0, kBearer.size()), kBearer)) {
    return Error{ErrorCode::kUnauthenticated, "Authorization: give Bearer and a token"};
  }
  std::optional<Principal> found;
  if (parts_.find_token) found = parts_.find_token(said.substr(kBearer.size()));
  if (!found) {
    if (parts_.guesses != nullptr) parts_.guesses->missed(request.peer);
    return Error{ErrorCode::kUnauthenticated,
                 "this token is not known; it may have been revoked, or belong to another store"};
  }
  return std::move(*found);
}

}  // namespace horae
