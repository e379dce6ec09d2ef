#include "base/json_text.h"

#include <fmt/format.h>

#include <iterator>

#include "base/utf8.h"

namespace horae {
namespace {

void append_escaped(std::string& out, char32_t code) {
  switch (code) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(code));
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const Utf8Char character = read_utf8(text);
    if (!character.valid) {
      out += "\xef\xbf\xbd";  // U+FFFD
    } else if (is_control(character.code) || character.code == '"' || character.code == '\\') {
      append_escaped(out, character.code);
    } else {
      out += text.substr(0, character.length);
    }
    text.remove_prefix(character.length);
  }
  out += '"';
}

}  // namespace horae
