// Admits requests: tokens, roles, hosts and rate limits.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/access/guess_limit.h"
#include "api/access/principal.h"
#include "base/clock.h"
#include "base/result.h"
#include "http/message.h"
#include "http/problem.h"

namespace horae {

struct GateOptions {
  bool require_token = false;  // also from callers on this machine

  // Whether the address of a peer is that of its caller, and not that of a proxy, which all callers share: guesses of
  // one caller must not slow the calls of another.
  bool peers_are_callers = true;
};

// What the gate depends on. Each may be null: then there are no tokens, no limits, or no token is ever revoked.
struct GateParts {
  std::function<std::optional<Principal>(std::string_view secret)> find_token = {};
  std::function<std::optional<Duration>(const std::string& token_id)> throttle =
      {};                                                 // how long to wait; nothing: go on
  std::function<bool(const Principal&)> is_current = {};  // see TokenBook::is_current()
  GuessLimit* guesses = nullptr;                          // outlives the gate
};

// Thread-safe.
class Gate {
 public:
  explicit Gate(GateParts parts, GateOptions options = {}) : parts_(std::move(parts)), options_(options) {}

  // The caller, as far as it is known, and the problem to answer with if it lacks this access.
  struct Decision {
    Principal principal;
    std::optional<Problem> refusal;
  };
  Decision decide(const HttpRequest& request, Access access) const;

  // True if the caller has a token that is known, or needs none.
  bool knows(const HttpRequest& request) const { return identify(request).ok(); }

  // Whether a caller that was admitted earlier still has the rights that it had then: its token may have been revoked.
  bool is_current(const Principal& principal) const { return !parts_.is_current || parts_.is_current(principal); }

 private:
  Result<Principal> identify(const HttpRequest& request) const;
  std::optional<Duration> wait_of_a_guesser(const HttpRequest& request) const;

  const GateParts parts_;
  const GateOptions options_;
};

// True for localhost and for numeric addresses, and for no Host at all, which no browser sends. Any other name may belong
// to another site, whose page reaches this node by pointing that name at it (DNS rebinding).
bool is_local_host(std::string_view host);

// True if the browser says that a page of another site sent the request.
bool is_from_another_site(const HttpRequest& request);

}  // namespace horae
