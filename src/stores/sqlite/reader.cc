#include "stores/sqlite/reader.h"

#include <algorithm>

#include "stores/list_cursor.h"
#include "stores/sqlite/statements.h"

namespace horae::sqlite {
namespace {

// The number that a statement answers, if any.
std::optional<std::int64_t> only_number(Statement& statement) {
  std::optional<std::int64_t> number;
  if (statement.next()) number = statement.integer(0);
  statement.finish();
  return number;
}

// True if a task of the list may be left out of a page.
bool is_filtered(const ListQuery& query) {
  return query.kind == ListKind::kFinished || (query.queue && query.kind != ListKind::kReady) ||
         (query.scope && query.kind != ListKind::kReady) || !query.states.empty() || query.owner ||
         query.created_from || query.created_before;
}

}  // namespace

Reader::Reader(std::shared_ptr<Connection> connection, const Clock& clock)
    : connection_(std::move(connection)),
      database_(*connection_->database),
      clock_(clock),
      number_of_id_(database_, statement("reader_number_of_id")),
      number_of_key_(database_, statement("reader_number_of_key")),
      task_(database_),
      checkpoint_(database_, statement("reader_checkpoint")),
      errors_(database_, statement("reader_errors")),
      trail_(database_, statement("reader_trail")),
      scheduled_(database_, statement("reader_scheduled")),
      ready_(database_, statement("reader_ready")),
      running_(database_, statement("reader_running")),
      newest_(database_, statement("reader_newest")),
      queues_(database_, statement("reader_queues")),
      of_token_(database_, statement("reader_of_token")),
      has_served_(database_, statement("reader_has_served")) {}

template <typename T, typename Body>
Result<T> Reader::look(Body body) {
  const std::lock_guard lock(connection_->mutex);
  database_.execute("BEGIN");
  T answer;
  try {
    answer = body();
  } catch (...) {  // out of memory: the next look must find no transaction
    database_.execute("ROLLBACK");
    (void)database_.take_error();
    throw;
  }
  database_.execute("COMMIT");
  if (auto done = database_.take_error(); !done.ok()) {
    database_.execute("ROLLBACK");
    (void)database_.take_error();  // there may be nothing to roll back
    return done.error();
  }
  return answer;
}

Result<std::vector<std::optional<Task>>> Reader::get(std::span<const TaskId> ids) {
  return look<std::vector<std::optional<Task>>>([&] {
    std::vector<std::optional<Task>> tasks(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      tasks[i] = read_task(only_number(number_of_id_.start(ids[i])));
      if (tasks[i]) add_history(*tasks[i]);
    }
    return tasks;
  });
}

Result<std::optional<Task>> Reader::find(std::string_view queue, std::string_view key) {
  return look<std::optional<Task>>([&] {
    auto task = read_task(only_number(number_of_key_.start(queue, key)));
    if (task) add_history(*task);
    return task;
  });
}

std::optional<Task> Reader::read_task(std::optional<std::int64_t> number) {
  if (!number) return std::nullopt;
  auto row = task_.read(*number);
  if (!row) return std::nullopt;
  Task& task = row->task;
  if (row->has_checkpoint) {
    if (checkpoint_.start(task.number).next()) task.checkpoint = checkpoint_.text(0);
    checkpoint_.finish();
  }
  if (task.state == State::kAborted) {
    errors_.start(task.number);
    while (errors_.next()) task.errors.push_back({errors_.text(0), errors_.text(1), errors_.text(2)});
  }
  return std::move(task);
}

// The trail has what is over; the present assignment comes from the row of the task, unless a row of the trail has it.
void Reader::add_history(Task& task) {
  bool is_noted = false;
  trail_.start(task.number);
  while (trail_.next()) {
    HistoryEntry entry{.kind = static_cast<HistoryKind>(trail_.small(0)),
                       .worker = trail_.text(2),
                       .time = trail_.instant(4),
                       .attempt = trail_.small(1),
                       .detail = trail_.text(6)};
    if (!trail_.is_null(5)) entry.progress = trail_.real(5);
    is_noted = is_noted || (entry.kind != HistoryKind::kLateResult && entry.attempt == task.attempt);
    const auto started_at = trail_.optional_instant(3);
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
  if (!is_noted && task.owner && task.started_at) {
    task.history.append_assignment(
        {HistoryKind::kAssignment, *task.owner, *task.started_at, task.attempt, std::nullopt, ""});
  }
}

Result<Page> Reader::list(const ListQuery& query) {
  if (auto checked = check_list_query(query); !checked.ok()) return checked.error();
  const auto from = read_cursor(query);
  if (!from.ok()) return from.error();
  const std::size_t most = is_filtered(query) ? kMaxExamined : static_cast<std::size_t>(query.limit) + 1;
  return look<Page>([&] { return fill(query, examine(query, *from, most), most); });
}

std::vector<Reader::Place> Reader::examine(const ListQuery& query, const Place& start, std::size_t most) {
  switch (query.kind) {
    case ListKind::kScheduled:
      return read_places(scheduled_.start(start.first, start.number, most));
    case ListKind::kRunning:
      return read_places(running_.start(start.first, start.number, most));
    case ListKind::kReady:
      return examine_ready(query, start, most);
    case ListKind::kFinished:
    case ListKind::kAll:
      return read_places(newest_.start(start.number, most));
  }
  check_failed("kind", __FILE__, __LINE__, "a list outside the enumeration");
}

// Merges the queues: from each only what comes before the worst that is kept.
std::vector<Reader::Place> Reader::examine_ready(const ListQuery& query, const Place& from, std::size_t most) {
  std::vector<std::int64_t> queues;
  queues_.start(query.queue);
  while (queues_.next()) {
    if (allows(query.scope, queues_.text(1))) queues.push_back(queues_.integer(0));
  }

  std::vector<Place> kept;  // a heap with the worst in front
  for (const std::int64_t queue : queues) {
    ready_.start(queue, from.first, from.second, from.number, most);
    while (ready_.next()) {
      const Place place{ready_.integer(0), ready_.integer(1), ready_.integer(2)};
      if (kept.size() == most) {
        if (kept.front() < place) break;
        std::pop_heap(kept.begin(), kept.end());
        kept.pop_back();
      }
      kept.push_back(place);
      std::push_heap(kept.begin(), kept.end());
    }
    ready_.finish();
  }
  std::sort_heap(kept.begin(), kept.end());
  return kept;
}

std::vector<Reader::Place> Reader::read_places(Statement& rows) {
  std::vector<Place> places;
  while (rows.next()) places.push_back({rows.integer(0), rows.integer(1), rows.integer(2)});
  return places;
}

Page Reader::fill(const ListQuery& query, const std::vector<Place>& places, std::size_t most) {
  Page page{.as_of = clock_.wall_now()};
  std::size_t bytes = 0;
  std::size_t examined = 0;
  while (examined < places.size() && page.tasks.size() < static_cast<std::size_t>(query.limit) &&
         bytes < kMaxPageBytes) {
    auto task = read_task(places[examined++].number);
    if (!task || !matches(query, *task)) continue;
    task->history = History();
    bytes += payload_bytes(*task);
    page.tasks.push_back(std::move(*task));
  }
  const bool more = examined < places.size() || places.size() == most;
  if (more && examined > 0) page.next = write_cursor(query.kind, places[examined - 1]);
  return page;
}

bool Reader::matches(const ListQuery& query, const Task& task) {
  if (query.kind == ListKind::kFinished && !is_terminal(task.state)) return false;
  if (query.queue && *query.queue != task.queue) return false;
  if (!allows(query.scope, task.queue)) return false;
  if (!query.states.empty() && std::find(query.states.begin(), query.states.end(), task.state) == query.states.end())
    return false;
  if (query.owner && query.owner != task.owner) return false;
  if (query.created_from && task.created_at < *query.created_from) return false;
  return !query.created_before || task.created_at < *query.created_before;
}

Result<std::vector<LeasedTask>> Reader::leases_of(const Uuid& token) {
  return look<std::vector<LeasedTask>>([&] {
    std::vector<LeasedTask> tasks;
    of_token_.start(token);
    while (of_token_.next()) {
      tasks.push_back({.id = of_token_.uuid(1),
                       .number = of_token_.integer(0),
                       .queue = of_token_.text(2),
                       .priority = of_token_.small(3),
                       .spec = of_token_.text(4),
                       .attempt = of_token_.small(5),
                       .lease_expires = of_token_.instant(6)});
      if (of_token_.small(7) == 0) continue;
      if (checkpoint_.start(tasks.back().number).next()) tasks.back().checkpoint = checkpoint_.text(0);
      checkpoint_.finish();
    }
    return tasks;
  });
}

Result<std::vector<bool>> Reader::have_served(std::span<const Uuid> tokens) {
  return look<std::vector<bool>>([&] {
    std::vector<bool> served;
    for (const Uuid& token : tokens) {
      served.push_back(has_served_.start(token).next());
      has_served_.finish();
    }
    return served;
  });
}

}  // namespace horae::sqlite
