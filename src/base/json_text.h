// JSON strings, written by hand because a line of log or a task on its way out needs no document tree.
#pragma once

#include <string>
#include <string_view>

namespace horae {

// Appends `text` as a JSON string with its quotes. Control characters, U+2028 and U+2029 are escaped; bytes that are
// not UTF-8 become U+FFFD, so that the result is always valid.
void append_json_string(std::string& out, std::string_view text);

}  // namespace horae
