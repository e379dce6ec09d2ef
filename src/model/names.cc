#include "model/names.h"

#include "base/utf8.h"

namespace horae {

bool is_free_form_name(std::string_view text, std::size_t max_characters) {
  std::size_t characters = 0;
  while (!text.empty()) {
    const Utf8Char next = read_utf8(text);
    if (!next.valid || is_control(next.code) || ++characters > max_characters) return false;
    text.remove_prefix(next.length);
  }
  return characters > 0;
}

}  // namespace horae
