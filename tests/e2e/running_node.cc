#include "tests/e2e/running_node.h"

#include <csignal>
#include <regex>
#include <stdexcept>

namespace horae::testing {
namespace {

std::vector<std::string> command_of(const std::vector<std::string>& flags) {
  std::vector<std::string> command = {HORAE_BINARY, "serve"};
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

}  // namespace

std::string text_in(const std::string& json, const std::string& name) {
  std::smatch found;
  return std::regex_search(json, found, std::regex("\"" + name + "\":\"([^\"]*)\"")) ? found[1].str() : "";
}

RunningNode::RunningNode(const std::vector<std::string>& flags) : process_(command_of(flags)) {
  if (!process_.read_until("is running")) throw std::runtime_error("the node did not start");
  const std::string line = process_.read_line().value_or("");
  std::smatch found;
  if (!std::regex_search(line, found, std::regex("https?://[0-9.:]+"))) throw std::runtime_error("no address: " + line);
  url_ = found[0];
  (void)process_.read_until("Stop with");
}

NetResponse RunningNode::call(const std::string& method, const std::string& path, const std::string& body,
                              const std::string& token) {
  NetRequest request{
      .method = method, .url = url_ + path, .headers = {{"content-type", "application/json"}}, .body = body};
  if (!token.empty()) request.headers.push_back({"authorization", "Bearer " + token});
  auto answer = client_.send(request);
  if (!answer.ok()) throw std::runtime_error(answer.error().message);
  return std::move(*answer);
}

std::string RunningNode::stop() {
  process_.send_signal(SIGTERM);
  std::string rest = process_.read_rest();
  (void)process_.wait();
  return rest;
}

void RunningNode::kill() {
  process_.send_signal(SIGKILL);
  (void)process_.wait();
}

}  // namespace horae::testing
