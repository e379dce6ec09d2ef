// "Did you mean ...?"
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace horae {

// The word at the smallest edit distance from `text` (a letter added, dropped, changed, or two neighbours swapped);
// nothing if that is more than a third of its letters.
std::optional<std::string> nearest_of(std::string_view text, std::span<const std::string> words);

}  // namespace horae
