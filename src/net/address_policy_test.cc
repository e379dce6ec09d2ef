#include "net/address_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

std::optional<std::string> refusal_of(std::string_view address, const std::vector<std::string>& allowed = {}) {
  const auto policy = AddressPolicy::allowing(allowed);
  EXPECT_TRUE(policy.ok());
  return policy->refusal(parse_ip_address(address).value());
}

TEST(AddressPolicy, AllowsPublicAddresses) {
  for (const char* address : {"1.1.1.1", "8.8.8.8", "93.184.216.34", "172.15.255.255", "172.32.0.0", "100.63.255.255",
                              "100.128.0.0", "169.253.255.255", "223.255.255.255", "2606:4700:4700::1111",
                              "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"}) {
    EXPECT_EQ(refusal_of(address), std::nullopt) << address;
  }
}

TEST(AddressPolicy, RefusesEverythingThatIsNotPublic) {
  const std::pair<const char*, const char*> refused[] = {
      {"0.0.0.0", "this machine"},
      {"127.0.0.1", "loopback"},
      {"127.255.255.254", "loopback"},
      {"10.0.0.1", "private"},
      {"172.16.0.1", "private"},
      {"172.31.255.255", "private"},
      {"192.168.1.1", "private"},
      {"100.64.0.1", "carrier"},
      {"100.100.100.200", "carrier"},  // metadata of Alibaba
      {"169.254.169.254", "metadata"},
      {"168.63.129.16", "metadata"},
      {"192.0.0.192", "reserved"},  // metadata of Oracle
      {"192.0.2.1", "documentation"},
      {"198.18.0.1", "benchmarks"},
      {"224.0.0.1", "multicast"},
      {"255.255.255.255", "reserved"},
      {"::", "this machine"},
      {"::1", "loopback"},
      {"fd00:ec2::254", "private"},  // metadata of Amazon
      {"fe80::1", "link-local"},
      {"fec0::1", "private"},
      {"ff02::1", "multicast"},
      {"2001:db8::1", "documentation"},
      {"2001:0:1::1", "reserved"},
      {"2002:7f00:1::", "tunnel"},
      {"100::1", "no public address"},
      {"::7f00:1", "no public address"},  // IPv4-compatible, long out of use
      {"64:ff9b:1::7f00:1", "no public address"},
  };
  for (const auto& [address, why] : refused) EXPECT_THAT(refusal_of(address), Optional(HasSubstr(why))) << address;
}

TEST(AddressPolicy, LooksThroughIpv6FormsOfAnIpv4Address) {
  for (const char* form : {"::ffff:127.0.0.1", "::ffff:7f00:1", "64:ff9b::127.0.0.1", "64:ff9b::7f00:1"}) {
    EXPECT_THAT(refusal_of(form), Optional(HasSubstr("loopback"))) << form;
  }
  EXPECT_THAT(refusal_of("64:ff9b::169.254.169.254"), Optional(HasSubstr("metadata")));
}

TEST(AddressPolicy, AllowsNetworksByName) {
  EXPECT_EQ(refusal_of("10.1.2.3", {"10.1.0.0/16"}), std::nullopt);
  EXPECT_EQ(refusal_of("::ffff:10.1.2.3", {"10.1.0.0/16"}), std::nullopt);
  EXPECT_EQ(refusal_of("64:ff9b::10.1.2.3", {"10.1.0.0/16"}), std::nullopt);
  EXPECT_EQ(refusal_of("127.0.0.1", {"::1", "127.0.0.1"}), std::nullopt);
  EXPECT_EQ(refusal_of("fd12::9", {"fd12::/16"}), std::nullopt);
  EXPECT_NE(refusal_of("10.2.0.0", {"10.1.0.0/16"}), std::nullopt);
  EXPECT_NE(refusal_of("127.0.0.2", {"127.0.0.1"}), std::nullopt);
  EXPECT_EQ(refusal_of("169.254.169.254", {"0.0.0.0/0"}), std::nullopt);
  EXPECT_NE(refusal_of("fd12::9", {"0.0.0.0/0"}), std::nullopt);
}

TEST(AddressPolicy, RefusesTextThatIsNoNetwork) {
  for (const char* text : {"", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0/8", "example.org",
                           "fd00::/129", "10.0.0.1/8", "fd00::1/8", "010.0.0.0/8"}) {
    const auto network = parse_ip_network(text);
    ASSERT_FALSE(network.ok()) << text;
    EXPECT_EQ(network.error().code, ErrorCode::kMalformed);
  }
  const std::vector<std::string> networks = {"10.0.0.0/8", "what"};
  EXPECT_THAT(AddressPolicy::allowing(networks).error().message, HasSubstr("\"what\""));
}

TEST(AddressPolicy, WritesAddressesAsUsual) {
  for (const char* text : {"192.0.2.1", "2001:db8::1", "::1"}) {
    EXPECT_EQ(to_string(parse_ip_address(text).value()), text);
  }
  EXPECT_EQ(to_string(parse_ip_address("::ffff:192.0.2.1").value()), "192.0.2.1");
}

}  // namespace
}  // namespace horae
