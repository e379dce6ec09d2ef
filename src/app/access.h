// Who may call this node: its copy of the tokens, kept fresh, and how often each may.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/access/gate.h"
#include "api/access/rate_limit.h"
#include "api/access/token_book.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "http/server.h"
#include "store/change.h"
#include "store/cluster_store.h"
#include "store/token_store.h"

namespace horae {

// Threads: every member may be called from any thread at once.
class NodeAccess final : public ChangeObserver {
 public:
  // All must outlive it.
  NodeAccess(TokenStore& tokens, const Clock& clock, RateLimitOptions limits, const Logger& log)
      : tokens_(tokens), clock_(clock), limit_(limits), log_(log) {}

  // kRefused if the node is open to other machines and nobody could call it, because there is no token. If only callers
  // on this machine could not, it is a warning.
  Result<void> start(const HttpServerOptions& http, bool requires_token);

  // The store's tokens are read again if the copy has another version, or was made of another database.
  void on_tick(const Tick& tick);

  // Reads the tokens again if one was created or revoked here.
  void on_changes(std::span<const Change> changes) override;

  GateParts gate();

 private:
  bool refresh();  // false if the tokens cannot be read

  TokenStore& tokens_;
  const Clock& clock_;
  RateLimit limit_;
  Logger log_;
  std::mutex refreshing_;
  TokenBook book_;
  std::atomic<std::uint64_t> moves_ = 0;  // Tick::moves, when the copy was made
};

}  // namespace horae
