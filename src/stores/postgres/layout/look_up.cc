#include "stores/postgres/layout/look_up.h"

#include "base/uuid.h"

namespace horae::postgres {
namespace {

// By the unique index of the day that the id tells, or by the list of ids that tell none.
const Sql kFindNumbers{
    "find_numbers",
    "select w.place, t.number from unnest($1::uuid[], $2::bigint[], $3::bigint[]) with ordinality as w(id, lo, hi, place)"
    " cross join lateral ("
    "  select number from task where task.id = w.id and task.number >= w.lo and task.number <= w.hi"
    "  union all select number from task_id where task_id.id = w.id limit 1) as t"};

const Sql kFindStandings{"find_standings",
                         "select w.number, p.state, p.attempt, p.owner, p.started_at, p.expires, p.ended_event,"
                         " coalesce(p.ended_owner, p.owner), p.queue"
                         " from unnest($1::bigint[]) as w(number)"
                         " join place as p on p.lo > w.number - 64 and p.lo <= w.number and p.hi >= w.number"};

const Sql kFindQueueNames{"find_queue_names", "select no, name from queue where no = any($1::integer[])"};

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
  if (numbers.empty()) return standings;
  for (const Row row : transaction.run(kFindStandings, Params::of(numbers))) {
    standings[row.integer(0)] = {.state = static_cast<State>(row.small(1)),
                                 .queue = row.small(8),
                                 .attempt = row.small(2),
                                 .owner = row.optional_text(3),
                                 .started_at = row.optional_instant(4),
                                 .expires = row.optional_instant(5),
                                 .ended = row.attempt_end(6)};
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
