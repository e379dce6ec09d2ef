// `horae serve` as a real process.
#pragma once

#include <string>
#include <vector>

#include "net/http_client.h"
#include "tests/support/process.h"

namespace horae::testing {

// Threads: one at a time.
class RunningNode {
 public:
  // Waits until it answers. Throws with what it said if it does not start.
  explicit RunningNode(const std::vector<std::string>& flags);

  const std::string& url() const { return url_; }

  // With a token, if one is given.
  NetResponse call(const std::string& method, const std::string& path, const std::string& body = {},
                   const std::string& token = {});
  NetResponse get(const std::string& path) { return call("GET", path); }
  NetResponse post(const std::string& path, const std::string& body = {}) { return call("POST", path, body); }

  std::string stop();  // by SIGTERM; answers what it still said
  void kill();         // by SIGKILL
  Process& process() { return process_; }

 private:
  Process process_;
  std::string url_;
  HttpClient client_;
};

// The text under a name anywhere in a JSON text: good enough for what a node writes.
std::string text_in(const std::string& json, const std::string& name);

}  // namespace horae::testing
