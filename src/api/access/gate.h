// Who may come in: tokens, roles, hosts, and how often.
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
  bool require_token = false;  // also of callers on this machine
};

// What the gate asks others. May be empty: then there are no tokens, or no limits.
struct GateParts {
  std::function<std::optional<Principal>(std::string_view secret)> find_token = {};
  std::function<std::optional<Duration>(const std::string& token_id)> throttle =
      {};  // how long to wait; nothing: go on
};

// Threads: any thread at once.
class Gate {
 public:
  explicit Gate(GateParts parts, GateOptions options = {}) : parts_(std::move(parts)), options_(options) {}

  // The caller, as far as it is known, and the problem to answer with if that one may not do what needs this access.
  struct Decision {
    Principal principal;
    std::optional<Problem> refusal;
  };
  Decision decide(const HttpRequest& request, Access access) const;

 private:
  Result<Principal> identify(const HttpRequest& request) const;

  const GateParts parts_;
  const GateOptions options_;
};

// True for names that only this machine can mean: localhost, and addresses. A page of another site may reach us under a
// name of its own that leads here.
bool is_local_host(std::string_view host);

// True if a page of another site sent it through its reader's browser, which says so.
bool is_from_another_site(const HttpRequest& request);

}  // namespace horae
