// The parts of a request's target.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace horae {

// "a//b" at '/' is "a", "", "b".
std::vector<std::string_view> split(std::string_view text, char at);

// "a%2Fb" is "a/b". Nothing for a bad escape, or if the result is not UTF-8 or contains NUL.
std::optional<std::string> decode_percent(std::string_view text, bool plus_is_space);

}  // namespace horae
