// Admits requests: tokens, roles, hosts and rate limits.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/access/principal.h"
#include "base/clock.h"
#include "base/result.h"
#include "http/message.h"
#include "http/problem.h"

namespace horae {

struct GateOptions {
  bool require_token = false;  // also from callers on this machine
};

// What the gate depends on. Either may be null: then there are no tokens, or no limits.
struct GateParts {
  std::function<std::optional<Principal>(std::string_view secret)> find_token = {};
  std::function<std::optional<Duration>(const std::string& token_id)> throttle =
      {};  // how long to wait; nothing: go on
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

 private:
  Result<Principal> identify(const HttpRequest& request) const;

  const GateParts parts_;
  const GateOptions options_;
};

// True for localhost and for numeric addresses, and for no Host at all, which no browser sends. Any other name may belong
// to another site, whose page reaches this node by pointing that name at it (DNS rebinding).
bool is_local_host(std::string_view host);

// True if the browser says that a page of another site sent the request.
bool is_from_another_site(const HttpRequest& request);

}  // namespace horae
