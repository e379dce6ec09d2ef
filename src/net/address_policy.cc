#include "net/address_policy.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/quote.h"

namespace horae {
namespace {

constexpr int kAllBits = 128;
constexpr int kMappedBits = 96;  // of ::ffff:0:0/96

IpAddress mapped(const std::uint8_t* four_bytes) {
  IpAddress address;
  address.bytes[10] = address.bytes[11] = 0xff;
  std::copy_n(four_bytes, 4, address.bytes.begin() + 12);
  return address;
}

bool is_v4(const IpAddress& address) {
  static constexpr std::array<std::uint8_t, 12> kPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kPrefix.begin(), kPrefix.end(), address.bytes.begin());
}

struct Range {
  std::string_view network;
  std::string_view what;
};

// The IANA registries of special-purpose addresses. The first match counts.
constexpr Range kRefused[] = {
    {"0.0.0.0/8", "is an address of this machine"},
    {"127.0.0.0/8", "is a loopback address"},
    {"10.0.0.0/8", "is in a private network"},
    {"172.16.0.0/12", "is in a private network"},
    {"192.168.0.0/16", "is in a private network"},
    {"100.64.0.0/10", "is in a network shared behind a carrier's NAT"},
    {"169.254.0.0/16", "is a link-local address, as metadata services have"},
    {"168.63.129.16/32", "is a metadata service"},  // Azure's, in the middle of public addresses
    {"192.0.0.0/24", "is reserved"},
    {"192.0.2.0/24", "is reserved for documentation"},
    {"192.88.99.0/24", "is reserved"},
    {"198.18.0.0/15", "is reserved for benchmarks"},
    {"198.51.100.0/24", "is reserved for documentation"},
    {"203.0.113.0/24", "is reserved for documentation"},
    {"224.0.0.0/4", "is a multicast address"},
    {"240.0.0.0/4", "is reserved"},
    {"::/128", "is an address of this machine"},
    {"::1/128", "is a loopback address"},
    {"fc00::/7", "is in a private network"},
    {"fe80::/10", "is a link-local address"},
    {"fec0::/10", "is in a private network"},
    {"ff00::/8", "is a multicast address"},
    {"2001::/23", "is reserved"},  // Teredo and other tunnels among them
    {"2001:db8::/32", "is reserved for documentation"},
    {"2002::/16", "is a tunnel to an IPv4 address"},
    {"3fff::/20", "is reserved for documentation"},
};

constexpr std::string_view kNat64 = "64:ff9b::/96";
constexpr std::string_view kPublicV6 = "2000::/3";  // what IANA has given out; everything else is special

IpNetwork network_of(std::string_view text) {
  auto network = parse_ip_network(text);
  HORAE_CHECK(network.ok(), "the tables of networks are correct");
  return *network;
}

struct RefusedNetwork {
  IpNetwork network;
  std::string_view what;
};

const std::vector<RefusedNetwork>& refused_networks() {
  static const std::vector<RefusedNetwork> kNetworks = [] {
    std::vector<RefusedNetwork> made;
    for (const Range& range : kRefused) made.push_back({network_of(range.network), range.what});
    return made;
  }();
  return kNetworks;
}

// The address to which a NAT64 gateway translates; any other address is returned unchanged.
IpAddress translated(const IpAddress& address) {
  static const IpNetwork kNetwork = network_of(kNat64);
  return kNetwork.contains(address) ? mapped(address.bytes.data() + 12) : address;
}

}  // namespace

Result<IpAddress> parse_ip_address(std::string_view text) {
  const std::string terminated(text);
  std::array<std::uint8_t, 4> four{};
  if (::inet_pton(AF_INET, terminated.c_str(), four.data()) == 1) return mapped(four.data());
  IpAddress address;
  if (::inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) return address;
  return Error{ErrorCode::kMalformed, fmt::format("{} is no IP address", quote(text))};
}

std::string to_string(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (is_v4(address)) {
    ::inet_ntop(AF_INET, address.bytes.data() + 12, text, sizeof text);
  } else {
    ::inet_ntop(AF_INET6, address.bytes.data(), text, sizeof text);
  }
  return text;
}

bool IpNetwork::contains(const IpAddress& other) const {
  for (int bit = 0; bit < prefix; bit += 8) {
    const auto index = static_cast<std::size_t>(bit / 8);
    const int mask = 0xff << std::max(0, 8 - (prefix - bit));
    if (((address.bytes[index] ^ other.bytes[index]) & mask & 0xff) != 0) return false;
  }
  return true;
}

Result<IpNetwork> parse_ip_network(std::string_view text) {
  const Error bad{ErrorCode::kMalformed,
                  fmt::format("{} is no network; write it as 10.0.0.0/8, fd00::/8 or 192.0.2.7", quote(text))};
  const std::size_t slash = text.find('/');
  const auto address = parse_ip_address(text.substr(0, slash));
  if (!address.ok()) return bad;
  if (slash == std::string_view::npos) return IpNetwork{*address, kAllBits};
  const std::string_view digits = text.substr(slash + 1);
  // The text decides, not the value: in ::ffff:10.0.0.0/104 the prefix counts all 128 bits.
  const int offset = text.find(':') == std::string_view::npos ? kMappedBits : 0;
  int prefix = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  if (failed != std::errc() || end != digits.data() + digits.size() || prefix < 0 || prefix + offset > kAllBits) {
    return bad;
  }
  const IpNetwork network{*address, prefix + offset};
  for (int bit = network.prefix; bit < kAllBits; ++bit) {
    const int byte = address->bytes[static_cast<std::size_t>(bit / 8)];
    if ((byte & (0x80 >> (bit % 8))) != 0) {
      return Error{ErrorCode::kMalformed,
                   fmt::format("{} is no network: bits beyond the prefix are set; a single address has no /PREFIX",
                               quote(text))};
    }
  }
  return network;
}

Result<AddressPolicy> AddressPolicy::allowing(std::span<const std::string> networks) {
  std::vector<IpNetwork> allowed;
  for (const std::string& text : networks) {
    const auto network = parse_ip_network(text);
    if (!network.ok()) return network.error();
    allowed.push_back(*network);
  }
  return AddressPolicy(std::move(allowed));
}

bool AddressPolicy::allows(const IpAddress& address) const {
  return std::ranges::any_of(allowed_, [&](const IpNetwork& network) { return network.contains(address); });
}

std::optional<std::string> AddressPolicy::refusal(const IpAddress& address) const {
  const IpAddress target = translated(address);
  if (allows(address) || allows(target)) return std::nullopt;
  for (const RefusedNetwork& refused : refused_networks()) {
    if (refused.network.contains(target)) return fmt::format("{} {}", to_string(address), refused.what);
  }
  static const IpNetwork kPublic = network_of(kPublicV6);
  if (!is_v4(target) && !kPublic.contains(target)) {
    return fmt::format("{} is no public address", to_string(address));
  }
  return std::nullopt;
}

}  // namespace horae
