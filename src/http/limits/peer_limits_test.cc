#include "http/limits/peer_limits.h"

#include <gtest/gtest.h>

namespace horae::testing {
namespace {

using namespace std::chrono_literals;

PeerLimits::Address peer(const char* text) { return PeerLimits::address_of(boost::asio::ip::make_address(text)); }

constexpr MonotonicTime kNow{1h};

TEST(PeerLimits, BoundsTheConnectionsOfEachAddress) {
  PeerLimits limits({.connections = 2});
  EXPECT_TRUE(limits.try_join(peer("10.0.0.1")));
  EXPECT_TRUE(limits.try_join(peer("10.0.0.1")));
  EXPECT_FALSE(limits.try_join(peer("10.0.0.1")));
  EXPECT_TRUE(limits.try_join(peer("10.0.0.2")));
  limits.leave(peer("10.0.0.1"));
  EXPECT_TRUE(limits.try_join(peer("10.0.0.1")));
}

TEST(PeerLimits, AnIpv6NetworkIsOneAddress) {
  PeerLimits limits({.connections = 1});
  EXPECT_TRUE(limits.try_join(peer("2001:db8::1")));
  EXPECT_FALSE(limits.try_join(peer("2001:db8::ffff:2")));
  EXPECT_TRUE(limits.try_join(peer("2001:db8:0:1::1")));
  EXPECT_TRUE(limits.try_join(peer("::1"))) << "the loopback is no network";
  EXPECT_TRUE(limits.try_join(peer("127.0.0.1")));
}

TEST(PeerLimits, AllowsRequestsAtARateAndTwoSecondsOfThemAtOnce) {
  PeerLimits limits({.stranger_requests = 10});
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(limits.take_request(peer("10.0.0.1"), kNow)) << i;
  EXPECT_FALSE(limits.take_request(peer("10.0.0.1"), kNow));
  EXPECT_TRUE(limits.take_request(peer("10.0.0.2"), kNow));
  EXPECT_TRUE(limits.take_request(peer("10.0.0.1"), kNow + 100ms));
  EXPECT_FALSE(limits.take_request(peer("10.0.0.1"), kNow + 100ms));
}

// Otherwise closing the connection after each request would avoid the limit.
TEST(PeerLimits, RemembersRequestsOfAnAddressWithoutConnections) {
  PeerLimits limits({.stranger_requests = 1});
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(limits.try_join(peer("10.0.0.1")));
    EXPECT_TRUE(limits.take_request(peer("10.0.0.1"), kNow));
    limits.leave(peer("10.0.0.1"));
  }
  ASSERT_TRUE(limits.try_join(peer("10.0.0.1")));
  EXPECT_FALSE(limits.take_request(peer("10.0.0.1"), kNow));
}

TEST(PeerLimits, RemembersABoundedNumberOfAddresses) {
  PeerLimits limits({.max_remembered = 10});
  ASSERT_TRUE(limits.try_join(peer("10.1.0.1")));
  for (int i = 0; i < 1'000; ++i) {
    (void)limits.take_request(peer(("10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250)).c_str()), kNow);
  }
  EXPECT_LE(limits.remembered(), 11U);
  EXPECT_GE(limits.remembered(), 1U);
}

TEST(PeerLimits, OffTheyLimitNothing) {
  PeerLimits limits({.is_on = false, .connections = 1, .stranger_requests = 1});
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(limits.try_join(peer("10.0.0.1")));
    EXPECT_TRUE(limits.take_request(peer("10.0.0.1"), kNow));
  }
  limits.leave(peer("10.0.0.1"));
  EXPECT_EQ(limits.remembered(), 0U);
}

}  // namespace
}  // namespace horae::testing
