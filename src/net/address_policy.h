// Which addresses an HTTP client may connect to when the URL is not its operator's own: a task's, a webhook's.
//
// A URL says nothing about where it leads: a name may resolve to anything, to something else a moment later, or redirect
// elsewhere. So the policy judges the address of each connection that is about to be opened (HttpClientOptions::policy).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace horae {

// IPv4 is held in its mapped form (::ffff:192.0.2.1), so that both ways to write an address are the same value.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};

  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

// Reads "192.0.2.1", "2001:db8::1" and "::ffff:192.0.2.1"; else kMalformed.
Result<IpAddress> parse_ip_address(std::string_view text);

// "192.0.2.1", "2001:db8::1".
std::string to_string(const IpAddress& address);

struct IpNetwork {
  IpAddress address;
  int prefix = 128;  // bits that count, of the 16 bytes

  bool contains(const IpAddress& other) const;
};

// Reads "10.0.0.0/8", "fd00::/8", or a single address. kMalformed also if bits beyond the prefix are set.
Result<IpNetwork> parse_ip_network(std::string_view text);

// Allows the public internet and the networks that its operator names. Refuses everything else: loopback, private and
// shared (CGNAT) networks, unique local and link-local addresses, multicast, reserved and documentation ranges, metadata
// services of clouds; and IPv6 forms of a refused IPv4 address (mapped, NAT64).
//
// Immutable, so thread-safe.
class AddressPolicy {
 public:
  explicit AddressPolicy(std::vector<IpNetwork> allowed = {}) : allowed_(std::move(allowed)) {}

  // Reads the networks to allow. kMalformed names the one that is wrong.
  static Result<AddressPolicy> allowing(std::span<const std::string> networks);

  // Nothing if connections to `address` are allowed, else why not: "10.1.2.3 is in a private network".
  std::optional<std::string> refusal(const IpAddress& address) const;

 private:
  bool allows(const IpAddress& address) const;

  std::vector<IpNetwork> allowed_;
};

}  // namespace horae
