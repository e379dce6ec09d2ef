// Writes JSON strings without a document tree, which log lines and responses do not need.
#pragma once

#include <string>
#include <string_view>

namespace horae {

// Appends `text` as a JSON string, quotes included. Control characters, U+2028 and U+2029 are escaped; bytes that are
// not UTF-8 become U+FFFD, so that the result is always valid.
void append_json_string(std::string& out, std::string_view text);

}  // namespace horae
