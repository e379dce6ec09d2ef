// A node: the engine and the API on one store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/config.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "store/store.h"

namespace horae {

// Order of start: combiner, engine, delay queues, API, and the server last, so that no request arrives before it can be served. Order
// of stop: long polls are answered, no new request is accepted, and accepted ones are answered; then the engine
// releases its tasks; the combiner ends last, because both use it until then.
//
// Not thread-safe: one thread at a time. store() may be used from any thread.
class Node {
 public:
  // The store and the clock must outlive the node. `owner` names this start of it: QueueStore::new_worker_id().
  Node(Store& store, const Clock& clock, const Config& config, const std::string& owner, const Logger& log);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Fails if an address cannot be bound; then the node is stopped again.
  Result<void> start();

  // Open requests have the grace time of the configuration, and then running tasks have it, too. False if a task was
  // left behind: it comes back when its lease expires. May be called twice.
  bool stop();

  // The store as the parts of the node use it: what changes through it wakes them.
  Store& store();

  // See HttpServer.
  Result<void> reload_certificates();

  // "http://127.0.0.1:3369", "https://...", with the ports that were chosen.
  std::vector<std::string> urls() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace horae
