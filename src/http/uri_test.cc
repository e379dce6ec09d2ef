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

}  // namespace
}  // namespace horae
