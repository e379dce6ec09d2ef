#include "app/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "http/listen_address.h"

namespace horae {
namespace {

bool is_open_to_other_machines(const HttpServerOptions& http) {
  return http.plaintext_behind_proxy || std::ranges::any_of(http.listen, [](const std::string& text) {
           const auto address = parse_listen_address(text);
           return address.ok() && !address->is_loopback;
         });
}

}  // namespace

Result<void> NodeAccess::start(const HttpServerOptions& http, bool requires_token) {
  const std::lock_guard lock(refreshing_);
  if (auto read = book_.refresh(tokens_); !read.ok()) return read;
  if (!book_.is_empty()) return {};
  if (!is_open_to_other_machines(http)) {
    if (requires_token) log_.warn("http.require_token: there is no token yet, so every call will be refused");
    return {};
  }
  return Error{ErrorCode::kRefused,
               fmt::format("http.listen {}: other machines can reach this node, and there is no token yet; create one "
                           "first: horae token create --offline --name first --role admin",
                           fmt::join(http.listen, ", "))};
}

void NodeAccess::on_tick(const Tick& tick) {
  if (tick.token_version == book_.version() && tick.moves == moves_) return;
  if (refresh()) moves_ = tick.moves;
}

void NodeAccess::on_changes(std::span<const Change> changes) {
  if (std::ranges::find(changes, Change::Kind::kTokens, &Change::kind) != changes.end()) refresh();
}

bool NodeAccess::refresh() {
  {
    const std::lock_guard lock(refreshing_);
    if (const auto read = book_.refresh(tokens_); !read.ok()) {
      log_.warn("cannot read the tokens; the previous ones stay valid", {{"reason", read.error().message}});
      return false;
    }
  }
  changed_();
  return true;
}

GateParts NodeAccess::gate() {
  return {.find_token = [this](std::string_view secret) { return book_.find(secret); },
          .throttle = [this](const std::string& token) { return limit_.take(token, clock_.now()); },
          .is_current = [this](const Principal& principal) { return book_.is_current(principal); }};
}

}  // namespace horae
