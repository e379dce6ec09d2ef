// Bytes as text: base64 of RFC 4648, with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace horae {

std::string to_base64(std::string_view bytes);

// Nothing if the text is not what to_base64() writes: another alphabet, white space, no padding, bits that are left over.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace horae
