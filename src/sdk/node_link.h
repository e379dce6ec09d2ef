// A worker's connection to the nodes: one of a list is in use, and the next one after a failure.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "net/http_client.h"

namespace horae {

struct NodeListOptions {
  std::vector<std::string> nodes;  // "http://127.0.0.1:3369" or "127.0.0.1:3369"; at least one
  std::string token = {};          // the secret; empty: none is sent
  std::string ca_file = {};        // authorities to trust for https://; empty: the system's
};

// The nodes, and which one is in use. Shared by the links of a worker, so that all move on together. Thread-safe.
class NodeList {
 public:
  NodeList(NodeListOptions options, const Clock& clock);

  const NodeListOptions& options() const { return options_; }

  // The node in use.
  std::string current() const;

  // That node did not answer: the next one is in use, unless another link has moved on before.
  void move_on_from(const std::string& node);

  void note_contact() { last_contact_ = clock_.now(); }
  MonotonicTime last_contact() const { return last_contact_; }
  std::uint64_t failovers() const { return failovers_; }

 private:
  const NodeListOptions options_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::size_t current_ = 0;  // guarded by mutex_
  std::atomic<MonotonicTime> last_contact_;
  std::atomic<std::uint64_t> failovers_ = 0;
};

// How a worker calls a node.
class NodeCalls {
 public:
  virtual ~NodeCalls() = default;

  // One try. The body of the answer if it is a success. Else:
  //   kUnavailable  no answer, 5xx or 429: the outcome is unknown. Send the same body again
  //   kRefused      the node refuses the call, and would refuse it again; the message is the node's
  //   kUnauthenticated, kForbidden  it refuses the token
  virtual Result<std::string> post(const std::string& path, const std::string& body, Duration timeout) = 0;
};

// Calls the node in use; after kUnavailable the next one is in use. Not thread-safe: each thread has its own.
class NodeLink final : public NodeCalls {
 public:
  explicit NodeLink(NodeList& list) : list_(list), http_({.ca_file = list.options().ca_file}) {}

  Result<std::string> post(const std::string& path, const std::string& body, Duration timeout) override;

 private:
  NodeList& list_;
  HttpClient http_;
};

// Pauses between tries: they double from the shortest to the longest, and each is shortened at random, by half at most, so
// that many workers do not come back at the same moment. Not thread-safe.
class Backoff {
 public:
  explicit Backoff(Random& random, Duration shortest = std::chrono::milliseconds(100),
                   Duration longest = std::chrono::seconds(5))
      : random_(random), shortest_(shortest), longest_(longest), next_(shortest) {}

  Duration next();
  void reset() { next_ = shortest_; }

 private:
  Random& random_;
  const Duration shortest_;
  const Duration longest_;
  Duration next_;
};

}  // namespace horae
