#include "base/utf8.h"

#include <cstdint>
#include <cstring>

#include "base/check.h"

namespace horae {
namespace {

constexpr char32_t kReplacement = 0xfffd;

// The length in bytes of a character that starts with `first`; 0 if no character does.
std::size_t length_after(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 0;
}

// True if the eight bytes are ASCII without NUL: no top bit is set, neither in the bytes nor after subtracting one from
// each.
bool is_plain(const char* eight_bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, eight_bytes, sizeof(word));
  return ((word | (word - 0x0101010101010101U)) & 0x8080808080808080U) == 0;
}

}  // namespace

Utf8Char read_utf8(std::string_view text) {
  HORAE_CHECK(!text.empty(), "there is no character in an empty text");
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = length_after(first);
  if (length == 0) return {kReplacement, 1, false};
  if (length == 1) return {first, 1, true};

  // After four of the first bytes the range of the second is narrower, which excludes overlong forms, surrogates and
  // everything past U+10FFFF.
  unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  char32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {kReplacement, i, false};
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < low || byte > high) return {kReplacement, i, false};
    code = code << 6 | (byte & 0x3fU);
    low = 0x80;
    high = 0xbf;
  }
  return {code, length, true};
}

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
}

bool is_text(std::string_view text) {
  while (!text.empty()) {
    if (text.size() >= 8 && is_plain(text.data())) {
      text.remove_prefix(8);
      continue;
    }
    const Utf8Char next = read_utf8(text);
    if (!next.valid || next.code == 0) return false;
    text.remove_prefix(next.length);
  }
  return true;
}

}  // namespace horae
