#include "http/uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

using ::testing::ElementsAre;

TEST(Uri, SplitsAndKeepsEmptyParts) {
  EXPECT_THAT(split("a//b/", '/'), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", '/'), ElementsAre(""));
}

TEST(Uri, DecodesEscapes) {
  EXPECT_EQ(decode_percent("a%2Fb%20%c3%a9", false), "a/b \xC3\xA9");
  EXPECT_EQ(decode_percent("a+b", false), "a+b");
  EXPECT_EQ(decode_percent("a+b", true), "a b");
  EXPECT_EQ(decode_percent("", true), "");
}

TEST(Uri, RefusesBadEscapesAndInvalidText) {
  for (const char* text : {"%", "%2", "%zz", "a%2", "%00", "%ff", "%c3"})
    EXPECT_EQ(decode_percent(text, true), std::nullopt) << text;
}

std::string parts_of(std::string_view host) {
  const auto parts = parse_authority(host);
  return parts ? std::string(parts->host) + "|" + std::string(parts->port) : "none";
}

TEST(Uri, SplitsHostAndPort) {
  EXPECT_EQ(parts_of("localhost:3369"), "localhost|3369");
  EXPECT_EQ(parts_of("[::1]:80"), "[::1]|80");
  EXPECT_EQ(parts_of("127.0.0.1:"), "127.0.0.1|");
  EXPECT_EQ(parts_of("a%2Db"), "a%2Db|");
  EXPECT_EQ(parts_of(""), "|");
  for (const std::string text : {"127.0.0.1:1@evil.com", "localhost:1:evil", "[evil", "[evil]", "[]", "[::1]x", "::1",
                                 "a b", "a%2", "a:65536", "a:-1", "[fe80::1%eth0]", "\xC3\xA9"}) {
    EXPECT_EQ(parts_of(text), "none") << text;
  }
  EXPECT_EQ(parts_of(std::string_view("[::1\0x]", 7)), "none");
}

TEST(Uri, KnowsAddressesFromNames) {
  EXPECT_TRUE(is_ipv4_address("10.0.0.7"));
  for (const char* name : {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "127.1", "a.b.c.d"})
    EXPECT_FALSE(is_ipv4_address(name)) << name;
}

std::string target_of(std::string_view text) {
  const auto parts = parse_target(text);
  if (!parts) return "none";
  return std::string(parts->authority) + "|" + std::string(parts->path) + "|" + std::string(parts->query);
}

TEST(Uri, SplitsTargets) {
  EXPECT_EQ(target_of("/v1/tasks?limit=1?"), "|/v1/tasks|limit=1?");
  EXPECT_EQ(target_of("//a"), "|//a|");
  EXPECT_EQ(target_of("*"), "|*|");
  EXPECT_EQ(target_of("HTTP://a:1/b?c"), "a:1|/b|c");
  EXPECT_EQ(target_of("https://[::1]"), "[::1]|/|");
  EXPECT_EQ(target_of("http://a?b/c"), "a|/|b/c");
  for (const char* text :
       {"", "v1", "?a", "*a", "http://", "http:///a", "http://:80/", "http://a@b/", "ftp://a/", "a:1"})
    EXPECT_EQ(target_of(text), "none") << text;
}

}  // namespace
}  // namespace horae
