#include "app/greeting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/version.h"

namespace horae {
namespace {

constexpr std::array kLoopback = {std::string_view("://127."), std::string_view("://localhost:"),
                                  std::string_view("://[::1]:")};
constexpr std::array kWildcards = {std::pair{"://0.0.0.0:", "127.0.0.1"}, std::pair{"://[::]:", "[::1]"}};

bool is_loopback(std::string_view url) {
  return std::ranges::any_of(kLoopback,
                             [url](std::string_view host) { return url.find(host) != std::string_view::npos; });
}

// Whether calls of this machine to that URL need a token.
bool needs_token(std::string_view url, const Config& config) {
  return config.api.gate.require_token || config.http.plaintext_behind_proxy || !is_loopback(url);
}

// The variables that the commands to try need, as lines to type.
std::string to_set(const Greeting& greeting, const Config& config) {
  const std::string& url = greeting.urls.front();
  std::string lines;
  if (needs_token(url, config)) {
    lines += fmt::format("  export HORAE_TOKEN=SECRET   # of a token; {} token create --help\n", greeting.program);
  }
  if (url.starts_with("https:")) {
    lines += fmt::format("  export HORAE_CA={}   # or its authority, unless this machine trusts it\n",
                         config.http.tls.certificate);
  }
  return lines;
}

// What to type next. Without slots, the node runs nothing by itself.
std::string to_try(const Greeting& greeting, const Config& config) {
  const DispatcherOptions& slots = config.engine.dispatcher;
  const std::string& url = greeting.urls.front();
  const std::string set = to_set(greeting, config);
  const std::string list = fmt::format("  {} task list --node {}\n", greeting.program, url);
  if (slots.slots == 0 || slots.queues.empty()) return "Try:\n" + set + list;
  const bool has_demo = std::ranges::find(slots.queues, "demo") != slots.queues.end();
  return fmt::format(
      "Try:\n"
      "{}"
      "  curl{} -X POST {}/v1/tasks -H 'content-type: application/json'{} \\\n"
      "       -d '{{\"queue\":\"{}\",\"spec\":{{\"run\":\"sleep\",\"for\":\"5s\"}}}}'\n"
      "{}",
      set, url.starts_with("https:") ? " --cacert \"$HORAE_CA\"" : "", url,
      needs_token(url, config) ? " -H \"authorization: Bearer $HORAE_TOKEN\"" : "",
      has_demo ? "demo" : slots.queues.front(), list);
}

std::string slots_of(const DispatcherOptions& slots) {
  if (slots.slots == 0) return "none: tasks wait for workers";
  return fmt::format("{} for queues {}", slots.slots, fmt::join(slots.queues, ", "));
}

std::string with_host(std::string_view url, std::string_view host) {
  const std::size_t from = url.find("://") + 3;
  return fmt::format("{}{}{}", url.substr(0, from), host, url.substr(url.rfind(':')));
}

}  // namespace

std::vector<std::string> urls_to_open(const std::vector<std::string>& urls, std::string_view machine) {
  std::vector<std::string> open;
  const auto add = [&open](std::string url) {
    if (std::ranges::find(open, url) == open.end()) open.push_back(std::move(url));
  };
  for (const std::string& url : urls) {
    const auto* const all = std::ranges::find_if(
        kWildcards, [&url](const auto& each) { return url.find(each.first) != std::string::npos; });
    add(all == kWildcards.end() ? url : with_host(url, all->second));
    if (all != kWildcards.end() && !machine.empty()) add(with_host(url, machine));
  }
  return open;
}

std::string greeting(const Greeting& greeting, const Config& config) {
  const std::string& url = greeting.urls.front();
  std::string more_urls;
  for (std::size_t i = 1; i < greeting.urls.size(); ++i) more_urls += fmt::format("           {}\n", greeting.urls[i]);
  return fmt::format(
      "horae {} is running as {}.\n"
      "  address  {}   (/docs: the API to read and try; /metrics; /healthz)\n"
      "{}"
      "  store    {}\n"
      "  slots    {}\n"
      "\n"
      "{}"
      "\n"
      "Stop with Ctrl-C (or kill -TERM): running tasks yield, and run again after the next start.\n",
      version(), greeting.owner, url, more_urls, greeting.store, slots_of(config.engine.dispatcher),
      to_try(greeting, config));
}

}  // namespace horae
