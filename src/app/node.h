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

// Order of start: combiner, engine, API, and last the server, so that whoever is answered is served. Order of stop:
// long polls are answered and no request is taken any more, those taken are answered; then the engine lets go of its
// tasks; the combiner ends last, because both use it until then.
//
// Threads: by one at a time.
class Node {
 public:
  // The store and the clock must outlive the node. `owner` names this start of it: QueueStore::new_worker_id().
  Node(Store& store, const Clock& clock, const Config& config, const std::string& owner, const Logger& log);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Fails if an address cannot be bound; then the node is stopped again.
  Result<void> start();

  // Requests and runs have the grace time of the configuration, each. False if something was left behind, which comes
  // back when its lease expires. May be called twice.
  bool stop();

  // The store as the parts of the node use it: what changes through it wakes them.
  Store& store();

  // As HttpServer's.
  Result<void> reload_certificates();

  // "http://127.0.0.1:3369", "https://...", with the ports that were chosen.
  std::vector<std::string> urls() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace horae
