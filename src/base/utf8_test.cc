#include "base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace horae {
namespace {

// From the table of RFC 3629.
std::string encode(char32_t code) {
  const auto tail = [code](unsigned shift) { return static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xc0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xe0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0)};
}

TEST(Utf8, ReadsEveryCharacter) {
  for (char32_t code = 0; code <= 0x10ffff; ++code) {
    const std::string bytes = encode(code) + "x";
    const Utf8Char read = read_utf8(bytes);
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    ASSERT_EQ(read.valid, !surrogate) << static_cast<unsigned>(code);
    if (surrogate) continue;
    ASSERT_EQ(read.code, code);
    ASSERT_EQ(read.length, bytes.size() - 1);
  }
}

struct Broken {
  std::string bytes;
  std::size_t length;
};

TEST(Utf8, EndsAnInvalidCharacterBeforeTheByteThatProvesIt) {
  const std::vector<Broken> table = {
      {"\x80", 1},  // a continuation without a beginning
      {"\xff", 1},
      {"\xc0\x80", 1},  // overlong
      {"\xc1\xbf", 1},
      {"\xe0\x80\x80", 1},
      {"\xe0\x9f\xbf", 1},
      {"\xf0\x8f\xbf\xbf", 1},
      {"\xed\xa0\x80", 1},      // a surrogate
      {"\xf4\x90\x80\x80", 1},  // past U+10FFFF
      {"\xf5\x80\x80\x80", 1},
      {"\xc3", 1},  // cut off by the end
      {"\xe2\x82", 2},
      {"\xf0\x9f\x95", 3},
      {"\xe2\x82x", 2},  // cut off by another character
      {"\xf0\x9f\xc3\xa9", 2},
  };
  for (const auto& [bytes, length] : table) {
    const Utf8Char read = read_utf8(bytes);
    EXPECT_FALSE(read.valid) << testing::PrintToString(bytes);
    EXPECT_EQ(read.length, length) << testing::PrintToString(bytes);
    EXPECT_EQ(read.code, 0xfffdU) << testing::PrintToString(bytes);
  }
}

TEST(Utf8, ClassifiesControlCharactersAndLineSeparators) {
  for (const char32_t code : std::initializer_list<char32_t>{0x00, 0x0a, 0x1f, 0x7f, 0x80, 0x85, 0x9f, 0x2028, 0x2029})
    EXPECT_TRUE(is_control(code));
  for (const char32_t code : std::initializer_list<char32_t>{0x20, 0x7e, 0xa0, 0xb5, 0x2027, 0x202a, 0xfffd})
    EXPECT_FALSE(is_control(code));
}

TEST(Utf8, TextExcludesNulAndInvalidCharacters) {
  for (std::size_t before = 0; before <= 17; ++before) {
    const std::string front(before, 'x');
    for (const std::string& good : {std::string(), std::string("\n"), std::string("\x7f"), std::string("\xc3\xa9")}) {
      EXPECT_TRUE(is_text(front + good)) << before;
      EXPECT_TRUE(is_text(front + good + front)) << before;
    }
    for (const std::string& bad :
         {std::string(1, '\0'), std::string("\x80"), std::string("\xc3"), std::string("\xff")}) {
      EXPECT_FALSE(is_text(front + bad)) << before;
      EXPECT_FALSE(is_text(front + bad + front)) << before;
    }
  }
}

TEST(Utf8DeathTest, RefusesEmptyText) { EXPECT_DEATH(read_utf8(""), "empty text"); }

RC_GTEST_PROP(Utf8, ReadsAnyBytesToTheEnd, (const std::vector<char>& bytes)) {
  std::string_view rest(bytes.data(), bytes.size());
  while (!rest.empty()) {
    const Utf8Char read = read_utf8(rest);
    RC_ASSERT(read.length >= 1U && read.length <= rest.size());
    if (read.valid) RC_ASSERT(encode(read.code) == rest.substr(0, read.length));
    rest.remove_prefix(read.length);
  }
}

}  // namespace
}  // namespace horae
