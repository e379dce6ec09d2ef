// What one caller, and one address, may use of a server at one time, over all connections.
#pragma once

#include <atomic>
#include <cstddef>

namespace horae {

// Counts what is in use, up to a limit. Thread-safe.
class Quota {
 public:
  explicit Quota(std::size_t limit) : limit_(limit) {}

  // False, and nothing is added, if that would exceed the limit.
  bool try_add(std::size_t count) {
    if (held_.fetch_add(count) + count <= limit_) return true;
    held_ -= count;
    return false;
  }

  // False, and nothing is added, if the limit is reached already, apart from `own`, a part of what is held. So the last
  // one may exceed it.
  bool add_if_room(std::size_t count, std::size_t own = 0) {
    if (held_.fetch_add(count) - own < limit_) return true;
    held_ -= count;
    return false;
  }

  void add(std::size_t count) { held_ += count; }  // also beyond the limit
  void remove(std::size_t count) { held_ -= count; }

  std::size_t held() const { return held_; }
  std::size_t limit() const { return limit_; }

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> held_ = 0;
};

// Limits of each peer address, for strangers and for connections that are not trusted from the beginning.
struct PeerLimitOptions {
  bool is_on = true;                    // off behind a proxy, whose address all callers have
  std::size_t connections = 1'000;      // at the same time; beyond: 503
  int stranger_requests = 100;          // per second in the long run; beyond: 429
  std::size_t max_remembered = 16'384;  // addresses, beside those with a connection
};

struct CallerLimits {
  std::size_t bytes = 32 << 20;       // of requests and answers; the last one may exceed it
  std::size_t connections = 2'500;    // beyond, further ones are closed first when connections are short
  std::size_t streams = 64;           // beyond: 503
  std::size_t waiting_calls = 2'500;  // for the handler, which knows what waits
};

// Thread-safe.
struct CallerShare {
  explicit CallerShare(const CallerLimits& limits)
      : bytes(limits.bytes),
        connections(limits.connections),
        streams(limits.streams),
        waiting_calls(limits.waiting_calls) {}

  Quota bytes;
  Quota connections;
  Quota streams;
  Quota waiting_calls;
};

}  // namespace horae
