// Who may call this node: its copy of the tokens, kept fresh, and how often each may.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "http/gate.h"
#include "http/rate_limit.h"
#include "http/server.h"
#include "http/token_book.h"
#include "store/token_store.h"

namespace horae {

// Threads: every member may be called from any thread at once.
class NodeAccess {
 public:
  // All must outlive it.
  NodeAccess(TokenStore& tokens, const Clock& clock, RateLimitOptions limits, const Logger& log)
      : tokens_(tokens), clock_(clock), limit_(limits), log_(log) {}

  // kRefused if the node is open to other machines and nobody could call it, because there is no token. If only callers
  // on this machine could not, it is a warning.
  Result<void> start(const HttpServerOptions& http, bool requires_token);

  // The store's tokens have this version: they are read again if the copy is another.
  void on_version(std::int64_t version);

  // A token was made or revoked here.
  void refresh();

  GateParts gate();

 private:
  TokenStore& tokens_;
  const Clock& clock_;
  RateLimit limit_;
  Logger log_;
  std::mutex refreshing_;
  TokenBook book_;
};

}  // namespace horae
