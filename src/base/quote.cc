#include "base/quote.h"

#include <fmt/format.h>

#include <iterator>

#include "base/utf8.h"

namespace horae {
namespace {

// One character, whose bytes are `bytes`, as it appears between the quotes.
std::string shown(std::string_view bytes, const Utf8Char& character) {
  if (character.valid && !is_control(character.code)) {
    const bool escape = bytes == "\"" || bytes == "\\";
    return (escape ? "\\" : "") + std::string(bytes);
  }
  std::string hex;
  for (const char byte : bytes) {
    fmt::format_to(std::back_inserter(hex), "\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return hex;
}

}  // namespace

std::string quote(std::string_view text, std::size_t limit) {
  std::string inside;
  while (!text.empty()) {
    const Utf8Char character = read_utf8(text);
    const std::string next = shown(text.substr(0, character.length), character);
    if (inside.size() + next.size() > limit) return "\"" + inside + "\"...";
    inside += next;
    text.remove_prefix(character.length);
  }
  return "\"" + inside + "\"";
}

}  // namespace horae
