// `horae serve` as a real process.
#pragma once

#include <string>
#include <vector>

#include "net/http_client.h"
#include "tests/support/process.h"

namespace horae::testing {

// Not thread-safe: one thread at a time.
class RunningNode {
 public:
  // Waits until it accepts calls. Throws with its output if it does not start.
  explicit RunningNode(const std::vector<std::string>& flags);

  const std::string& url() const { return url_; }

  // Sends `token` unless it is empty.
  NetResponse call(const std::string& method, const std::string& path, const std::string& body = {},
                   const std::string& token = {});
  NetResponse get(const std::string& path) { return call("GET", path); }
  NetResponse post(const std::string& path, const std::string& body = {}) { return call("POST", path, body); }

  std::string stop();  // by SIGTERM; returns the rest of its output
  void kill();         // by SIGKILL
  Process& process() { return process_; }

 private:
  Process process_;
  std::string url_;
  HttpClient client_;
};

// The first string member of that name anywhere in a JSON text; sufficient for the JSON of a node.
std::string text_in(const std::string& json, const std::string& name);

}  // namespace horae::testing
