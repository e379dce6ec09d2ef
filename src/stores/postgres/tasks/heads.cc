#include "stores/postgres/tasks/heads.h"

#include <tuple>

namespace horae::postgres {

void Head::begin() {
  first = 0;
  next = ranges.empty() ? 0 : ranges.front().life.range.lo;
  given = 0;
  touched.assign(ranges.size(), false);
}

std::vector<GivenTask> give(Heads& heads, const std::vector<int>& queues, std::size_t most, std::int64_t second) {
  std::vector<GivenTask> given;
  while (given.size() < most) {
    Head* best = nullptr;
    std::tuple<std::int64_t, std::int64_t, std::int64_t> best_key;
    for (const int queue : queues) {
      Head& head = heads[queue];
      if (head.empty()) continue;
      const auto points = effective_priority(head.ageing, head.range().rank, second);
      const auto key = std::tuple(-points, head.range().at, head.next);
      if (best == nullptr || key < best_key) {
        best = &head;
        best_key = key;
      }
    }
    if (best == nullptr) break;
    given.push_back({best->next, &best->range()});
    best->touched[best->first] = true;
    ++best->given;
    if (best->next++ < best->range().life.range.hi) continue;
    ++best->first;
    if (!best->empty()) best->next = best->range().life.range.lo;
  }
  return given;
}

Left what_is_left(const Heads& heads) {
  Left left;
  for (const auto& [queue, head] : heads) {
    for (std::size_t i = 0; i < head.ranges.size(); ++i) {
      if (!head.touched[i]) continue;
      left.gone.push_back(head.ranges[i].life.range.lo);
      if (i != head.first) continue;
      left.rest.push_back(head.ranges[i]);
      left.rest.back().life.range.lo = head.next;
    }
  }
  return left;
}

}  // namespace horae::postgres
