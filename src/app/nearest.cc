#include "app/nearest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace horae {
namespace {

constexpr std::size_t kLongest = 128;  // longer texts are not compared

// The Damerau-Levenshtein distance: row i, column j of the table is the distance between the first i letters of one
// text and the first j of the other.
std::size_t steps_between(std::string_view one, std::string_view other) {
  const std::size_t width = other.size() + 1;
  std::vector<std::size_t> steps((one.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return steps[i * width + j]; };
  for (std::size_t i = 0; i <= one.size(); ++i) {
    for (std::size_t j = 0; j <= other.size(); ++j) {
      if (i == 0 || j == 0) {
        at(i, j) = i + j;
        continue;
      }
      const bool same = one[i - 1] == other[j - 1];
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(one.size(), other.size());
}

}  // namespace

std::optional<std::string> nearest_of(std::string_view text, std::span<const std::string> words) {
  if (text.size() > kLongest) return std::nullopt;
  std::optional<std::string> nearest;
  std::size_t fewest = std::max<std::size_t>(1, text.size() / 3) + 1;
  for (const std::string& word : words) {
    const std::size_t steps = steps_between(text, word);
    if (steps >= fewest) continue;
    fewest = steps;
    nearest = word;
  }
  return nearest;
}

}  // namespace horae
