#include "api/access/guess_limit.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace horae {
namespace {

constexpr Figure kMisses{"horae_token_misses_total", "Calls with a token that is not known"};
constexpr Figure kSlowed{"horae_token_guesses_slowed_total",
                         "Calls that were refused without a look at their token, because their address tries tokens"};

constexpr std::size_t kNetworkBytes = 8;  // of an IPv6 address

std::string_view without_port(std::string_view peer) {
  if (peer.starts_with('[')) return peer.substr(1, std::min(peer.find(']'), peer.size()) - 1);
  return peer.substr(0, peer.rfind(':'));
}

}  // namespace

std::string address_group(std::string_view peer) {
  std::string address(without_port(peer));
  in6_addr parsed{};
  if (inet_pton(AF_INET6, address.c_str(), &parsed) != 1 || IN6_IS_ADDR_V4MAPPED(&parsed)) return address;
  std::fill(std::begin(parsed.s6_addr) + kNetworkBytes, std::end(parsed.s6_addr), 0);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (inet_ntop(AF_INET6, &parsed, text.data(), text.size()) == nullptr) return address;
  return std::string(text.data()) + "/64";
}

GuessLimit::GuessLimit(const Clock& clock, Meter& meter)
    : clock_(clock),
      misses_({.per_second = kMissesPerSecond, .burst = kMissesPerSecond}),
      missed_(meter.counter(kMisses)),
      slowed_(meter.counter(kSlowed)) {}

std::optional<Duration> GuessLimit::wait(std::string_view peer) {
  const auto wait = misses_.look(address_group(peer), clock_.now());
  if (wait) slowed_.add();
  return wait;
}

void GuessLimit::missed(std::string_view peer) {
  (void)misses_.take(address_group(peer), clock_.now());
  missed_.add();
}

}  // namespace horae
