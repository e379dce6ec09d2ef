// Access to this node: its copy of the tokens, kept up to date, and the rate limit of each token.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
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

// Thread-safe.
class NodeAccess final : public ChangeObserver {
 public:
  // All references must outlive it.
  // `queues_per_pattern`: see TokenBook.
  NodeAccess(TokenStore& tokens, const Clock& clock, RateLimitOptions limits, const Logger& log,
             std::size_t queues_per_pattern = kMaxQueuesOfAToken)
      : tokens_(tokens), clock_(clock), limit_(limits), log_(log), book_(queues_per_pattern) {}

  // kRefused if the node is open to other machines and there is no token, so that every call would be refused. If only
  // callers on this machine need a token, the lack of one is logged as a warning.
  Result<void> start(const HttpServerOptions& http, bool requires_token);

  // `changed` is called, with no lock held, after each time that the tokens were read again. Set it before start().
  void set_listener(std::function<void()> changed) { changed_ = std::move(changed); }

  // Reads the tokens again if the store has another version of them, or is another database than the copy came from.
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
  std::function<void()> changed_ = [] {};
  std::mutex refreshing_;
  TokenBook book_;
  std::atomic<std::uint64_t> moves_ = 0;  // Tick::moves, when the copy was made
};

}  // namespace horae
