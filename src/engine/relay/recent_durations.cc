#include "engine/relay/recent_durations.h"

#include <algorithm>
#include <vector>

namespace horae {

void RecentDurations::note(MonotonicTime now, Duration value) {
  const std::lock_guard lock(mutex_);
  values_.emplace_back(now, value);
  while (values_.size() > kMost || now - values_.front().first > kMemory) values_.pop_front();
}

std::optional<Duration> RecentDurations::quantile(double q) const {
  std::vector<Duration> values;
  {
    const std::lock_guard lock(mutex_);
    values.reserve(values_.size());
    for (const auto& [when, value] : values_) values.push_back(value);
  }
  if (values.empty()) return std::nullopt;
  const auto index = static_cast<std::size_t>(q * static_cast<double>(values.size() - 1));
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(index);
  std::ranges::nth_element(values, nth);
  return *nth;
}

}  // namespace horae
