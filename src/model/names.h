// What names given by clients (keys, message ids) may look like.
#pragma once

#include <cstddef>
#include <string_view>

namespace horae {

// True for 1 to `max_characters` characters (not bytes) of UTF-8 without control characters.
bool is_free_form_name(std::string_view text, std::size_t max_characters);

}  // namespace horae
