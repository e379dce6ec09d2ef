#include "app/greeting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/version.h"

namespace horae {
namespace {

constexpr std::array kAllOfTheMachine = {std::pair{"://0.0.0.0:", "127.0.0.1"}, std::pair{"://[::]:", "[::1]"}};

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
        kAllOfTheMachine, [&url](const auto& each) { return url.find(each.first) != std::string::npos; });
    add(all == kAllOfTheMachine.end() ? url : with_host(url, all->second));
    if (all != kAllOfTheMachine.end() && !machine.empty()) add(with_host(url, machine));
  }
  return open;
}

std::string greeting(const Greeting& greeting, const Config& config) {
  const std::string& url = greeting.urls.front();
  std::string others;
  for (std::size_t i = 1; i < greeting.urls.size(); ++i) others += fmt::format("           {}\n", greeting.urls[i]);
  return fmt::format(
      "horae {} is running as {}.\n"
      "  address  {}   (/docs to read and try the API, /metrics, /healthz)\n"
      "{}"
      "  store    {}\n"
      "  slots    {} for the queues {}\n"
      "\n"
      "Try:\n"
      "  curl -X POST {}/v1/tasks -H 'content-type: application/json' \\\n"
      "       -d '{{\"queue\":\"demo\",\"spec\":{{\"run\":\"sleep\",\"for\":\"5s\"}}}}'\n"
      "  {} task list --node {}\n"
      "\n"
      "Stop it with Ctrl-C (or: kill -TERM); what runs is yielded and runs again after the next start.\n",
      version(), greeting.owner, url, others, greeting.store, config.engine.dispatcher.slots,
      fmt::join(config.engine.dispatcher.queues, ", "), url, greeting.program, url);
}

}  // namespace horae
