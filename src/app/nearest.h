// "Did you mean ...?"
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace horae {

// The word that takes the fewest steps (a letter added, dropped, changed, or two neighbours swapped) to get from
// `text`; nothing if even that is more than a third of its letters.
std::optional<std::string> nearest_of(std::string_view text, std::span<const std::string> words);

}  // namespace horae
