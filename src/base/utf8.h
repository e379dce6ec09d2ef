// UTF-8, one character at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace horae {

struct Utf8Char {
  char32_t code = 0;       // U+FFFD where the bytes are not UTF-8
  std::size_t length = 0;  // how many bytes it takes, 1 to 4
  bool valid = false;
};

// Reads the character at the front of `text`, which is not empty. Bytes that are not UTF-8 (overlong forms, surrogates
// and cut-off characters among them) count as one broken character up to the byte at which that became certain.
Utf8Char read_utf8(std::string_view text);

// True for what ends a line or steers a terminal instead of showing something: the controls of ASCII and Latin-1, and
// the separators U+2028 and U+2029.
bool is_control(char32_t code);

// True for UTF-8 without NUL: what every store can keep as text.
bool is_text(std::string_view text);

}  // namespace horae
