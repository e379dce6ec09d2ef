#include "stores/postgres/tasks/reader.h"

#include <algorithm>
#include <unordered_map>

#include "stores/list_cursor.h"
#include "stores/postgres/layout/look_up.h"
#include "stores/postgres/layout/places.h"
#include "stores/postgres/connection/time.h"

namespace horae::postgres {
namespace {

// Everything about the tasks with the numbers $1, in that order.
const std::string kSelectTasks =
    "select t.number, t.id, q.name, t.key, t.priority, t.spec, p.state, r.progress, t.created_at,"
    " case when p.state = 2 and r.attempt = p.attempt then r.updated_at else p.updated_at end,"
    " coalesce(p.run_at, t.run_at, t.created_at), t.recurring, p.attempt, p.tries, t.max_attempts,"
    " t.retry_kind, t.retry_delay, t.retry_factor, t.retry_cap, t.retry_jitter, p.owner, p.started_at, p.expires,"
    " coalesce(p.results[t.number - p.lo + 1], u.result), r.checkpoint, p.errors, p.cancel_reason, w.place"
    " from unnest($1::bigint[]) with ordinality as w(number, place)"
    " join task as t on t.number = w.number"
    " join place as p on p.lo > w.number - 64 and p.lo <= w.number and p.hi >= w.number"
    " join queue as q on q.no = t.queue"
    " left join progress as r on r.number = w.number"
    " left join turn as u on u.number = w.number";
constexpr int kPlace = 27;

const Sql kTasks{"tasks", kSelectTasks + " order by w.place"};

const Sql kTrail{"trail",
                 "select w.number, t.kind, t.attempt, t.worker, t.started_at, t.at, t.progress, t.detail"
                 " from unnest($1::bigint[]) as w(number)"
                 " join trail as t on t.lo > w.number - 64 and t.lo <= w.number and t.hi >= w.number"
                 " order by w.number, t.no"};

const Sql kFindKey{"find_key",
                   "select k.number from task_key as k join queue as q on q.no = k.queue"
                   " where q.name = $1::text and k.key = $2::text"};

Task read_task(const Row& row) {
  const State state = static_cast<State>(row.small(6));
  Task task{.id = row.uuid(1),
            .number = row.integer(0),
            .key = row.optional_text(3),
            .queue = row.text(2),
            .priority = row.small(4),
            .spec = row.text(5),
            .state = state,
            .progress = state == State::kCompleted ? 1.0
                        : row.is_null(7)           ? 0.0
                                                   : row.real(7),
            .created_at = row.instant(8),
            .updated_at = row.instant(9),
            .run_at = row.instant(10),
            .recurring = row.optional_duration(11),
            .attempt = row.small(12),
            .tries = row.small(13),
            .max_attempts = row.small(14),
            .owner = row.optional_text(20),
            .started_at = row.optional_instant(21),
            .lease_expires = row.optional_instant(22),
            .errors = read_errors(row, 25),
            .result = row.optional_text(23),
            .checkpoint = row.optional_text(24),
            .cancel_reason = row.optional_text(26),
            .history = History()};
  if (!row.is_null(15)) {
    task.retry = {static_cast<RetryPolicy::Kind>(row.small(15)), row.duration(16), row.real(17), row.duration(18),
                  row.real(19)};
  }
  return task;
}

// The trail says what is over; the present assignment is told by the task itself, unless a row of the trail speaks of
// it.
void add_histories(Transaction& transaction, std::unordered_map<std::int64_t, Task*>& tasks) {
  std::vector<std::int64_t> numbers;
  for (const auto& [number, task] : tasks) {
    if (task->attempt > 0) numbers.push_back(number);
  }
  if (numbers.empty()) return;
  std::unordered_map<std::int64_t, bool> is_told;
  for (const Row row : transaction.run(kTrail, Params::of(numbers))) {
    Task& task = *tasks.at(row.integer(0));
    if (row.small(1) < 0) {
      task.history = History(static_cast<std::uint64_t>(row.integer(2)));
      continue;
    }
    HistoryEntry entry{.kind = static_cast<HistoryKind>(row.small(1)),
                       .worker = row.text(3),
                       .time = row.instant(5),
                       .attempt = row.small(2),
                       .detail = row.text(7)};
    if (!row.is_null(6)) entry.progress = row.real(6);
    if (entry.kind != HistoryKind::kLateResult && entry.attempt == task.attempt) is_told[task.number] = true;
    const auto started_at = row.optional_instant(4);
    if (started_at && entry.kind != HistoryKind::kAssignment) {
      task.history.append({HistoryKind::kAssignment, entry.worker, *started_at, entry.attempt, std::nullopt, ""});
    }
    task.history.append(std::move(entry));
  }
  for (const auto& [number, task] : tasks) {
    if (is_told[number] || !task->owner || !task->started_at) continue;
    task->history.append({HistoryKind::kAssignment, *task->owner, *task->started_at, task->attempt, std::nullopt, ""});
  }
}

std::vector<std::optional<Task>> read_whole(Transaction& transaction,
                                            const std::vector<std::optional<std::int64_t>>& numbers) {
  std::vector<std::optional<Task>> tasks(numbers.size());
  std::vector<std::int64_t> wanted;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!numbers[i]) continue;
    wanted.push_back(*numbers[i]);
    places.push_back(i);
  }
  if (wanted.empty()) return tasks;
  for (const Row row : transaction.run(kTasks, Params::of(wanted))) {
    tasks[places[static_cast<std::size_t>(row.integer(kPlace) - 1)]] = read_task(row);
  }
  std::unordered_map<std::int64_t, Task*> by_number;
  for (auto& task : tasks) {
    if (task) by_number[task->number] = &*task;
  }
  add_histories(transaction, by_number);
  // A task that was asked for twice has its history in one of them.
  for (auto& task : tasks) {
    if (task && by_number.at(task->number) != &*task) task = *by_number.at(task->number);
  }
  return tasks;
}

// ---- Lists ----

// True if a task of the list may be left out of a page.
bool is_filtered(const ListQuery& query) {
  const bool by_queue = query.queue || query.scope;
  return (by_queue && query.kind == ListKind::kAll) || !query.states.empty() || query.owner || query.created_from ||
         query.created_before;
}

// The ranges that a page looks at, in the order of the list from a position on; the first may begin before it. Each
// statement follows an index or sorts a small table. $1 is the queue, or those of the scope: small tables and outcomes
// are read by it.
struct RangesOfList {
  Sql sql;
  Params params;
};

// The queues of the caller's scope, if they have to be told apart: none of them where it does not allow the queue of
// the query.
using QueuesOfScope = std::optional<std::vector<std::int32_t>>;

const Sql kQueues{"list_queues", "select no, name from queue"};

QueuesOfScope queues_of_scope(Transaction& transaction, const ListQuery& query) {
  if (!query.scope || (query.queue && query.scope->allows(*query.queue))) return std::nullopt;
  std::vector<std::int32_t> queues;
  if (query.queue) return queues;
  for (const Row row : transaction.run(kQueues)) {
    if (query.scope->allows(row.view(1))) queues.push_back(row.small(0));
  }
  return queues;
}

// A condition on the queue with the parameter $1.
struct QueueFilter {
  std::string suffix;  // of the statement's name
  std::string sql;
  Params params;
};

QueueFilter queue_filter(const ListQuery& query, const QueuesOfScope& scope) {
  if (scope) return {"_of_scope", " and queue = any($1::integer[])", Params::of(*scope)};
  if (!query.queue) return {"", " and $1::text is null", Params::of(query.queue)};
  return {"_of_queue", " and queue = (select no from queue where name = $1::text)", Params::of(query.queue)};
}

RangesOfList ranges_of_list(const ListQuery& query, const QueuesOfScope& scope, const ListPosition& from,
                            std::int64_t most) {
  QueueFilter of_queue = queue_filter(query, scope);
  Params& params = of_queue.params;
  const Instant since = from_postgres(from.first);
  switch (query.kind) {
    case ListKind::kScheduled:
      // From the position on in scheduled_due, also among many with one due time (`lo + 0`: see migration 0007). The
      // range that holds the number of the position begins at most 63 before it.
      return {{"list_scheduled" + of_queue.suffix,
               "select due, 0::bigint, lo, hi from scheduled where (due, lo + 0) >= ($2::timestamptz, $5::bigint)"
               " and (due, hi) > ($2::timestamptz, $3::bigint)" +
                   of_queue.sql + " order by due, lo + 0 limit $4::bigint"},
              params.add(since).add(from.number).add(most).add(std::max<std::int64_t>(from.number, 63) - 63)};
    case ListKind::kReady:
      return {{"list_ready" + of_queue.suffix,
               "select rank, at, lo, hi from ready where rank >= $2::bigint"
               " and (rank, at, hi) > ($2::bigint, $3::bigint, $4::bigint)" +
                   of_queue.sql + " order by rank, at, lo + 0 limit $5::bigint"},
              params.add(from.first).add(from.second).add(from.number).add(most)};
    case ListKind::kRunning:
      return {
          {"list_running" + of_queue.suffix,
           "select started_at, 0::bigint, lo, hi from running where (started_at, hi) > ($2::timestamptz, $3::bigint)" +
               of_queue.sql + " order by started_at, lo limit $4::bigint"},
          params.add(since).add(from.number).add(most)};
    case ListKind::kFinished: {
      // By finished_queue for one queue (`lo + 0`: see migration 0009), else by the primary key.
      const std::string order = query.queue && !scope ? "lo + 0" : "lo";
      return {{"list_finished" + of_queue.suffix,
               "select 0::bigint, 0::bigint, lo, hi from finished where lo < $2::bigint and " + order + " < $2::bigint" +
                   of_queue.sql + " order by " + order + " desc limit $3::bigint"},
              params.add(from.number).add(most)};
    }
    case ListKind::kAll:
      return {{"list_all",
               "select 0::bigint, 0::bigint, number, number from task where number < $1::bigint order by number desc"
               " limit $2::bigint"},
              Params::of(from.number, most)};
  }
  return {};
}

// The tasks that a page looks at, `most` of them.
std::vector<ListPosition> positions_of(Transaction& transaction, const ListQuery& query, const QueuesOfScope& scope,
                                       const ListPosition& from, std::int64_t most) {
  std::vector<ListPosition> positions;
  if (scope && scope->empty()) return positions;
  const auto ranges = ranges_of_list(query, scope, from, most);
  const bool down = is_newest_first(query.kind);
  for (const Row row : transaction.run(ranges.sql, ranges.params)) {
    const Range range{row.integer(2), row.integer(3)};
    for (std::int64_t i = 0; i < range.size(); ++i) {
      const ListPosition position{row.integer(0), row.integer(1), down ? range.hi - i : range.lo + i};
      const bool is_behind = down ? position.number >= from.number : position <= from;
      if (is_behind) continue;
      if (static_cast<std::int64_t>(positions.size()) == most) return positions;
      positions.push_back(position);
    }
  }
  return positions;
}

const Sql kListTasks{"list_tasks", kSelectTasks +
                                       " where ($2::smallint[] is null or p.state = any($2::smallint[]))"
                                       " and ($3::text is null or q.name = $3::text)"
                                       " and ($4::text is null or p.owner = $4::text)"
                                       " and ($5::timestamptz is null or t.created_at >= $5::timestamptz)"
                                       " and ($6::timestamptz is null or t.created_at < $6::timestamptz)"
                                       " and ($7::integer[] is null or t.queue = any($7::integer[]))"
                                       " order by w.place"};

// Tasks may be large, so they are read in portions, which grow as long as they turn out small.
constexpr std::size_t kFirstPortion = 64;
constexpr std::size_t kLargestPortion = 2'000;
constexpr std::size_t kSmallBytes = 1 << 20;

// Fills the page; answers how many positions it took.
std::size_t fill(Transaction& transaction, const ListQuery& query, const QueuesOfScope& scope,
                 const std::vector<ListPosition>& positions, Page& page) {
  std::vector<std::int16_t> states;
  for (const State state : query.states) states.push_back(static_cast<std::int16_t>(state));
  if (states.empty()) {
    for (const State state : kAllStates) states.push_back(static_cast<std::int16_t>(state));
  }
  std::size_t bytes = 0;
  std::size_t portion = kFirstPortion;
  std::size_t begin = 0;
  while (begin < positions.size() && !transaction.failed()) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = begin; i < std::min(begin + portion, positions.size()); ++i) {
      numbers.push_back(positions[i].number);
    }
    const std::size_t bytes_before = bytes;
    const Rows rows = transaction.run(kListTasks, Params::of(numbers, states, query.queue, query.owner,
                                                             query.created_from, query.created_before, scope));
    for (const Row row : rows) {
      Task task = read_task(row);
      bytes += payload_bytes(task);
      page.tasks.push_back(std::move(task));
      if (page.tasks.size() == static_cast<std::size_t>(query.limit) || bytes >= kMaxPageBytes) {
        return begin + static_cast<std::size_t>(row.integer(kPlace));
      }
    }
    begin += numbers.size();
    if (bytes - bytes_before < kSmallBytes) portion = std::min(portion * 2, kLargestPortion);
  }
  return begin;
}

const Sql kNow{"list_now", "select horae_now()"};

}  // namespace

Result<std::vector<std::optional<Task>>> Reader::get(std::span<const TaskId> ids) {
  using Answer = std::vector<std::optional<Task>>;
  if (ids.empty()) return Answer();
  return pool_.look<Answer>([&](Transaction& transaction) -> Result<Answer> {
    const auto numbers = find_numbers(transaction, {ids.begin(), ids.end()});
    auto tasks = read_whole(transaction, numbers);
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return tasks;
  });
}

Result<std::optional<Task>> Reader::find(std::string_view queue, std::string_view key) {
  return pool_.look<std::optional<Task>>([&](Transaction& transaction) -> Result<std::optional<Task>> {
    const Rows found = transaction.run(kFindKey, Params::of(queue, key));
    if (found.empty()) {
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      return std::optional<Task>();
    }
    auto tasks = read_whole(transaction, {found[0].integer(0)});
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return std::move(tasks[0]);
  });
}

Result<Page> Reader::list(const ListQuery& query) {
  if (auto checked = check_list_query(query); !checked.ok()) return checked.error();
  const auto from = read_cursor(query);
  if (!from.ok()) return from.error();
  const std::size_t most = is_filtered(query) ? kMaxExamined : static_cast<std::size_t>(query.limit) + 1;
  return pool_.look<Page>([&](Transaction& transaction) -> Result<Page> {
    const std::size_t now = transaction.send(kNow);
    const auto scope = queues_of_scope(transaction, query);
    const auto positions = positions_of(transaction, query, scope, *from, static_cast<std::int64_t>(most));
    Page page;
    const std::size_t examined = fill(transaction, query, scope, positions, page);
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    page.as_of = transaction.rows(now)[0].instant(0);
    const bool more = examined < positions.size() || positions.size() == most;
    if (more && examined > 0) page.next = write_cursor(query.kind, positions[examined - 1]);
    return page;
  });
}

}  // namespace horae::postgres
