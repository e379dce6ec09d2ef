// Text from outside, quoted in a message for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace horae {

// Puts `text` between double quotes, so that the result is one short, printable line whatever the text holds. Quotes
// and backslashes get a backslash; bytes of control characters and bytes that are not UTF-8 become \xNN. What would
// take more than `limit` bytes between the quotes is cut, and "..." follows.
std::string quote(std::string_view text, std::size_t limit = 64);

}  // namespace horae
