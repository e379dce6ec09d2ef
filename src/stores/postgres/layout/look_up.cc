#include "stores/postgres/layout/look_up.h"

#include "base/uuid.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/layout/places.h"

namespace horae::postgres {
namespace {

const Sql kFindNumbers = statement("find_numbers");
const Sql kFindStandings = statement("find_standings");
const Sql kFindQueueNames = statement("find_queue_names");

}  // namespace

std::optional<std::int64_t> day_in(const TaskId& id) {
  const auto time = version_of(id) == 7 ? time_of(id) : std::nullopt;
  if (!time) return std::nullopt;
  return day_of(*time);
}

std::vector<std::optional<std::int64_t>> find_numbers(Transaction& transaction, const std::vector<TaskId>& ids) {
  std::vector<std::optional<std::int64_t>> numbers(ids.size());
  if (ids.empty()) return numbers;
  std::vector<std::int64_t> lo;
  std::vector<std::int64_t> hi;
  for (const TaskId& id : ids) {
    const auto day = day_in(id);
    const Range range = day && *day < (std::int64_t{1} << 22) ? numbers_of_day(*day) : Range{0, -1};
    lo.push_back(range.lo);
    hi.push_back(range.hi);
  }
  for (const Row row : transaction.run(kFindNumbers, Params::of(ids, lo, hi))) {
    numbers[static_cast<std::size_t>(row.integer(0) - 1)] = row.integer(1);
  }
  return numbers;
}

Standings find_standings(Transaction& transaction, const std::vector<std::int64_t>& numbers) {
  Standings standings;
  const std::set<std::int64_t> wanted(numbers.begin(), numbers.end());
  if (wanted.empty()) return standings;
  const auto ranges = ranges_of({wanted.begin(), wanted.end()});
  for (const Row row : transaction.run(kFindStandings, Params::of(los_of(ranges), his_of(ranges)))) {
    const Standing standing{.state = static_cast<State>(row.small(2)),
                            .queue = row.small(9),
                            .attempt = row.small(3),
                            .owner = row.optional_text(4),
                            .started_at = row.optional_instant(5),
                            .expires = row.optional_instant(6),
                            .ended = row.attempt_end(7),
                            .read_at = row.instant(10)};
    const auto end = wanted.upper_bound(row.integer(1));
    for (auto number = wanted.lower_bound(row.integer(0)); number != end; ++number) standings[*number] = standing;
  }
  return standings;
}

std::map<int, std::string> find_queue_names(Transaction& transaction, const std::set<int>& queues) {
  std::map<int, std::string> names;
  if (queues.empty()) return names;
  const std::vector<std::int32_t> numbers(queues.begin(), queues.end());
  for (const Row row : transaction.run(kFindQueueNames, Params::of(numbers))) names[row.small(0)] = row.text(1);
  return names;
}

}  // namespace horae::postgres
