// A node as a real process, called over real sockets, on any store.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/e2e/running_node.h"

namespace horae::testing {

// A store that lives as long as this object.
class NodeStore {
 public:
  virtual ~NodeStore() = default;
  virtual std::vector<std::string> flags() const = 0;  // of `horae serve`
};

struct NodeStoreMaker {
  std::string name;
  std::function<std::unique_ptr<NodeStore>()> make;
};

inline void PrintTo(const NodeStoreMaker& maker, std::ostream* out) { *out << maker.name; }

class NodeOn : public ::testing::TestWithParam<NodeStoreMaker> {
 protected:
  NodeOn();
  ~NodeOn() override;

  // Starts the node again. The constructor has started it once, without further flags.
  void start(const std::vector<std::string>& more = {});
  void stop();  // by SIGTERM; checks that it ends cleanly
  void kill();  // by SIGKILL

  const std::string& url() const { return node_->url(); }
  NetResponse call(const std::string& method, const std::string& path, const std::string& body = {},
                   const std::string& token = {}) {
    return node_->call(method, path, body, token);
  }
  NetResponse get(const std::string& path) { return call("GET", path); }
  NetResponse post(const std::string& path, const std::string& body = {}) { return call("POST", path, body); }

  std::string submit(const std::string& body);  // returns the id
  std::string state_of(const std::string& id);  // "ready"
  void wait_for(const std::string& id, const std::string& state);

  // Sends one settlement and returns the whole response.
  std::string settle(const std::string& id, int attempt, const std::string& owner, const std::string& event,
                     const std::string& more = {});

 private:
  std::unique_ptr<NodeStore> store_;
  std::unique_ptr<RunningNode> node_;
};

}  // namespace horae::testing
