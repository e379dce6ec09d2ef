// Task numbers and ranges of them: the arithmetic of the layout, without a database.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace horae::postgres {

inline constexpr std::int64_t kMaxRange = 64;  // tasks; the tables check it

// Consecutive numbers, both ends included.
struct Range {
  std::int64_t lo = 0;
  std::int64_t hi = 0;

  std::int64_t size() const { return hi - lo + 1; }
  bool contains(std::int64_t number) const { return lo <= number && number <= hi; }
  friend auto operator<=>(const Range&, const Range&) = default;
};

// A number contains the day of the store's clock on which its block was taken: day << 40 | counter.
inline constexpr int kDayShift = 40;

// Days since 1970.
constexpr std::int64_t day_of(Instant time) {
  return std::chrono::floor<std::chrono::days>(time).time_since_epoch().count();
}
constexpr Range numbers_of_day(std::int64_t day) { return {day << kDayShift, ((day + 1) << kDayShift) - 1}; }

// The numbers as few ranges, in order and without repetition. They may be longer than kMaxRange.
std::vector<Range> ranges_of(std::vector<std::int64_t> numbers);

// Calls `take(first, last)` for each run of neighbours in `items` (sorted by number) that may share a range: their
// numbers follow one another, `alike(a, b)` says that all else is equal, and there are kMaxRange of them at most.
template <typename Items, typename NumberOf, typename Alike, typename Take>
void for_each_range(const Items& items, NumberOf number_of, Alike alike, Take take) {
  auto first = items.begin();
  while (first != items.end()) {
    auto last = first;
    for (auto next = first + 1; next != items.end(); ++next) {
      const bool follows = number_of(*next) == number_of(*last) + 1;
      if (!follows || number_of(*next) - number_of(*first) >= kMaxRange || !alike(*first, *next)) break;
      last = next;
    }
    take(*first, *last);
    first = last + 1;
  }
}

}  // namespace horae::postgres
