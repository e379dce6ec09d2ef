#include "stores/postgres/tasks/reader.h"

#include <algorithm>
#include <unordered_map>

#include "stores/list_cursor.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/time.h"
#include "stores/postgres/layout/look_up.h"
#include "stores/postgres/layout/places.h"
#include "stores/postgres/tasks/task_row.h"

namespace horae::postgres {
namespace {

const Sql kTrail = statement("trail");
const Sql kFindKey = statement("find_key");

// The trail has what is over; the present assignment follows from the task itself, unless a row of the trail has it.
void add_histories(Transaction& transaction, std::unordered_map<std::int64_t, Task*>& tasks) {
  std::vector<std::int64_t> numbers;
  for (const auto& [number, task] : tasks) {
    if (task->attempt > 0) numbers.push_back(number);
  }
  if (numbers.empty()) return;
  std::unordered_map<std::int64_t, bool> has_assignment;
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
    if (entry.kind != HistoryKind::kLateResult && entry.attempt == task.attempt) has_assignment[task.number] = true;
    const auto started_at = row.optional_instant(4);
    if (started_at && entry.kind != HistoryKind::kAssignment) {
      task.history.append_assignment(
          {HistoryKind::kAssignment, entry.worker, *started_at, entry.attempt, std::nullopt, ""});
    }
    if (entry.kind == HistoryKind::kAssignment) {
      task.history.append_assignment(std::move(entry));
    } else {
      task.history.append(std::move(entry));
    }
  }
  for (const auto& [number, task] : tasks) {
    if (has_assignment[number] || !task->owner || !task->started_at) continue;
    task->history.append_assignment(
        {HistoryKind::kAssignment, *task->owner, *task->started_at, task->attempt, std::nullopt, ""});
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
  for (const Row row : transaction.run(kReadTasks, Params::of(wanted))) {
    tasks[places[static_cast<std::size_t>(row.integer(kPlaceOfTask) - 1)]] = read_task_row(row);
  }
  std::unordered_map<std::int64_t, Task*> by_number;
  for (auto& task : tasks) {
    if (task) by_number[task->number] = &*task;
  }
  add_histories(transaction, by_number);
  // If a task was requested twice, only one copy has got its history.
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

const Sql kNow = statement("list_now");
const Sql kQueues = statement("list_queues");
const Sql kListAll = statement("list_all");

// The statement that reads the ranges of a page, in its three forms; the filter is the last parameter.
struct ListStatement {
  Sql unfiltered;
  Sql of_queue;  // text: its name
  Sql of_scope;  // integer[]: the queues
};

const ListStatement kListScheduled = {statement("list_scheduled"), statement("list_scheduled_of_queue"),
                                      statement("list_scheduled_of_scope")};
const ListStatement kListReady = {statement("list_ready"), statement("list_ready_of_queue"),
                                  statement("list_ready_of_scope")};
const ListStatement kListRunning = {statement("list_running"), statement("list_running_of_queue"),
                                    statement("list_running_of_scope")};
const ListStatement kListFinished = {statement("list_finished"), statement("list_finished_of_queue"),
                                     statement("list_finished_of_scope")};

// The queues of the caller's scope, if the list must be filtered by them: none where the scope does not allow the queue
// of the query.
using QueuesOfScope = std::optional<std::vector<std::int32_t>>;

QueuesOfScope queues_of_scope(Transaction& transaction, const ListQuery& query) {
  if (!query.scope || (query.queue && query.scope->allows(*query.queue))) return std::nullopt;
  std::vector<std::int32_t> queues;
  if (query.queue) return queues;
  for (const Row row : transaction.run(kQueues)) {
    if (query.scope->allows(row.view(1))) queues.push_back(row.small(0));
  }
  return queues;
}

Rows run_filtered(Transaction& transaction, const ListStatement& list, Params& params, const ListQuery& query,
                  const QueuesOfScope& scope) {
  if (scope) return transaction.run(list.of_scope, params.add(*scope));
  if (query.queue) return transaction.run(list.of_queue, params.add(*query.queue));
  return transaction.run(list.unfiltered, params);
}

// The ranges of a page in the order of the list from a position on; the first one may begin before it.
Rows ranges_of_list(Transaction& transaction, const ListQuery& query, const QueuesOfScope& scope,
                    const ListPosition& from, std::int64_t most) {
  const Instant since = from_postgres(from.first);
  switch (query.kind) {
    case ListKind::kScheduled: {
      // A range that holds the number of the position begins at most 63 before it.
      const std::int64_t first = std::max<std::int64_t>(from.number, kMaxRange - 1) - (kMaxRange - 1);
      Params params = Params::of(since, from.number, first, most);
      return run_filtered(transaction, kListScheduled, params, query, scope);
    }
    case ListKind::kReady: {
      Params params = Params::of(from.first, from.second, from.number, most);
      return run_filtered(transaction, kListReady, params, query, scope);
    }
    case ListKind::kRunning: {
      Params params = Params::of(since, from.number, most);
      return run_filtered(transaction, kListRunning, params, query, scope);
    }
    case ListKind::kFinished: {
      Params params = Params::of(from.number, most);
      return run_filtered(transaction, kListFinished, params, query, scope);
    }
    case ListKind::kAll:
      return transaction.run(kListAll, Params::of(from.number, most));
  }
  return {};
}

// The tasks that a page examines, `most` of them.
std::vector<ListPosition> positions_of(Transaction& transaction, const ListQuery& query, const QueuesOfScope& scope,
                                       const ListPosition& from, std::int64_t most) {
  std::vector<ListPosition> positions;
  if (scope && scope->empty()) return positions;
  const bool down = is_newest_first(query.kind);
  for (const Row row : ranges_of_list(transaction, query, scope, from, most)) {
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
      Task task = read_task_row(row);
      bytes += payload_bytes(task);
      page.tasks.push_back(std::move(task));
      if (page.tasks.size() == static_cast<std::size_t>(query.limit) || bytes >= kMaxPageBytes) {
        return begin + static_cast<std::size_t>(row.integer(kPlaceOfTask));
      }
    }
    begin += numbers.size();
    if (bytes - bytes_before < kSmallBytes) portion = std::min(portion * 2, kLargestPortion);
  }
  return begin;
}

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
