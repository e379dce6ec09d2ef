#include "base/quote.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace horae {
namespace {

TEST(Quote, KeepsPlainTextUnchanged) {
  EXPECT_EQ(quote(""), R"("")");
  EXPECT_EQ(quote("3 weeks"), R"("3 weeks")");
  EXPECT_EQ(quote("минута 時間"), R"("минута 時間")");
}

TEST(Quote, EscapesControlCharactersAndQuotes) {
  EXPECT_EQ(quote(R"(a"b\c)"), R"("a\"b\\c")");
  EXPECT_EQ(quote(std::string_view("a\n\0\x1b", 4)), R"("a\x0a\x00\x1b")");
  EXPECT_EQ(quote("\u009b"), R"("\xc2\x9b")");
  EXPECT_EQ(quote("a\xff\xc3"), R"("a\xff\xc3")");
}

TEST(Quote, CutsLongTextAndMarksTheCut) {
  EXPECT_EQ(quote(std::string(64, 'x')), '"' + std::string(64, 'x') + '"');
  EXPECT_EQ(quote(std::string(65, 'x')), '"' + std::string(64, 'x') + "\"...");
  EXPECT_EQ(quote("abc", 2), R"("ab"...)");
}

TEST(Quote, NeverSplitsACharacter) {
  EXPECT_EQ(quote("aµ", 3), R"("aµ")");
  EXPECT_EQ(quote("aµ", 2), R"("a"...)");
  EXPECT_EQ(quote("a\n", 4), R"("a"...)");
}

RC_GTEST_PROP(Quote, IsShortAndPrintableForAnyBytes, (const std::vector<char>& bytes)) {
  const auto limit = *rc::gen::inRange<std::size_t>(0, 80);
  const std::string quoted = quote({bytes.data(), bytes.size()}, limit);
  RC_ASSERT(quoted.size() <= limit + 5);
  for (const char c : quoted) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

}  // namespace
}  // namespace horae
