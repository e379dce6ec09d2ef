#include "stores/postgres/layout/ranges.h"

namespace horae::postgres {

std::vector<Range> ranges_of(std::vector<std::int64_t> numbers) {
  std::ranges::sort(numbers);
  std::vector<Range> ranges;
  for (const std::int64_t number : numbers) {
    if (!ranges.empty() && number <= ranges.back().hi + 1) {
      ranges.back().hi = number;
    } else {
      ranges.push_back({number, number});
    }
  }
  return ranges;
}

}  // namespace horae::postgres
