#include "sdk/node_link.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "sdk/worker_wire.h"

namespace horae {
namespace {

std::string with_scheme(std::string node) {
  while (node.ends_with('/')) node.pop_back();
  return node.find("://") == std::string::npos ? "http://" + node : node;
}

NodeListOptions normalized(NodeListOptions options) {
  HORAE_CHECK(!options.nodes.empty(), "a worker has a node");
  std::ranges::transform(options.nodes, options.nodes.begin(), with_scheme);
  return options;
}

ErrorCode code_of(int status) {
  if (status == 401) return ErrorCode::kUnauthenticated;
  if (status == 403) return ErrorCode::kForbidden;
  return status >= 500 || status == 429 ? ErrorCode::kUnavailable : ErrorCode::kRefused;
}

}  // namespace

NodeList::NodeList(NodeListOptions options, const Clock& clock)
    : options_(normalized(std::move(options))), clock_(clock), last_contact_(clock.now()) {}

std::string NodeList::current() const {
  const std::lock_guard lock(mutex_);
  return options_.nodes[current_];
}

void NodeList::move_on_from(const std::string& node) {
  const std::lock_guard lock(mutex_);
  if (options_.nodes[current_] != node || options_.nodes.size() == 1) return;
  current_ = (current_ + 1) % options_.nodes.size();
  ++failovers_;
}

Result<std::string> NodeLink::post(const std::string& path, const std::string& body, Duration timeout) {
  const std::string node = list_.current();
  NetRequest request{.method = "POST",
                     .url = node + path,
                     .headers = {{"Content-Type", "application/json"}},
                     .body = body,
                     .timeout = timeout};
  const std::string& token = list_.options().token;
  if (!token.empty()) request.headers.push_back({"Authorization", "Bearer " + token});
  auto response = http_.send(request);
  if (!response.ok()) {
    list_.move_on_from(node);
    return Error{ErrorCode::kUnavailable, response.error().message};
  }
  if (response->status >= 200 && response->status < 300) {
    list_.note_contact();
    return std::move(response->body);
  }
  const ErrorCode code = code_of(response->status);
  if (code == ErrorCode::kUnavailable) {
    list_.move_on_from(node);
  } else {
    list_.note_contact();
  }
  return Error{code, fmt::format("{}{}: {} {}", node, path, response->status, detail_of_problem(response->body))};
}

Duration Backoff::next() {
  const Duration pause = next_;
  next_ = std::min(2 * next_, longest_);
  return Duration(static_cast<Duration::rep>(static_cast<double>(pause.count()) * (1 - random_.unit() / 2)));
}

}  // namespace horae
