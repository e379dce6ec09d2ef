// Decodes UTF-8 one character at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace horae {

struct Utf8Char {
  char32_t code = 0;       // U+FFFD if the bytes are not UTF-8
  std::size_t length = 0;  // in bytes, 1 to 4
  bool valid = false;
};

// Reads the first character of `text`, which must not be empty. Invalid bytes (including overlong forms, surrogates and
// truncated characters) count as one invalid character that ends before the byte that proves it invalid.
Utf8Char read_utf8(std::string_view text);

// True for characters that end a line or control a terminal: the control characters of ASCII and Latin-1, and the
// separators U+2028 and U+2029.
bool is_control(char32_t code);

// True for UTF-8 without NUL, which every store can keep as text.
bool is_text(std::string_view text);

}  // namespace horae
