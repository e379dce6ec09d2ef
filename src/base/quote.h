// Quotes outside text for messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace horae {

// Puts `text` between double quotes. The result is one short, printable line for any input: quotes and backslashes are
// escaped with a backslash, control characters and bytes that are not UTF-8 become \xNN, and text that needs more than
// `limit` bytes between the quotes is cut, with "..." after the closing quote.
std::string quote(std::string_view text, std::size_t limit = 64);

}  // namespace horae
