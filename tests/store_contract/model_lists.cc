// The model store: lists.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "tests/store_contract/model_store.h"

namespace horae::testing {
namespace {

// The place of a task in a list; lower first.
using Place = std::array<std::int64_t, 3>;

Place place_of(ListKind kind, const ModelTask& held) {
  const Task& task = held.task;
  switch (kind) {
    case ListKind::kScheduled:
      return {task.run_at.time_since_epoch().count(), task.number, 0};
    case ListKind::kReady:
      return {held.rank, held.ready_second, task.number};
    case ListKind::kRunning:
      return {task.started_at->time_since_epoch().count(), task.number, 0};
    case ListKind::kFinished:
    case ListKind::kAll:
      break;
  }
  return {-task.number, 0, 0};
}

bool is_in_list(ListKind kind, State state) {
  switch (kind) {
    case ListKind::kScheduled:
      return state == State::kScheduled;
    case ListKind::kReady:
      return state == State::kReady;
    case ListKind::kRunning:
      return state == State::kRunning;
    case ListKind::kFinished:
      return is_terminal(state);
    case ListKind::kAll:
      break;
  }
  return true;
}

bool matches(const ListQuery& query, const Task& task) {
  if (!is_in_list(query.kind, task.state)) return false;
  if (query.queue && task.queue != *query.queue) return false;
  if (!allows(query.scope, task.queue)) return false;
  if (!query.states.empty() && std::ranges::find(query.states, task.state) == query.states.end()) return false;
  if (query.owner && task.owner != query.owner) return false;
  if (query.created_from && task.created_at < *query.created_from) return false;
  return !query.created_before || task.created_at < *query.created_before;
}

// "1 -5 20 3": the kind of the list and the place of the last task that was shown.
std::string cursor_after(ListKind kind, const Place& place) {
  return fmt::format("{} {} {} {}", static_cast<int>(kind), place[0], place[1], place[2]);
}

std::optional<Place> parse_cursor(ListKind kind, std::string_view cursor) {
  std::array<std::int64_t, 4> numbers{};
  const char* next = cursor.data();
  const char* const end = next + cursor.size();
  for (std::int64_t& number : numbers) {
    const auto [stop, error] = std::from_chars(next, end, number);
    if (error != std::errc{}) return std::nullopt;
    next = stop;
    if (&number != &numbers.back() && (next == end || *next++ != ' ')) return std::nullopt;
  }
  const Place place{numbers[1], numbers[2], numbers[3]};
  if (numbers[0] != static_cast<int>(kind) || cursor_after(kind, place) != cursor) return std::nullopt;
  return place;
}

std::size_t bytes_of(const Task& task) {
  std::size_t errors = 0;
  for (const TaskError& each : task.errors) errors += each.code.size() + each.args.size() + each.description.size();
  return errors + task.spec.size() + task.result.value_or("").size() + task.checkpoint.value_or("").size();
}

}  // namespace

Result<Page> ModelTaskStore::list(const ListQuery& query) {
  if (auto checked = check_list_query(query); !checked.ok()) return checked.error();
  const auto start = parse_cursor(query.kind, query.cursor);
  if (!query.cursor.empty() && !start) {
    return Error{ErrorCode::kMalformed, "cursor: give `next` of the page before, with the same query"};
  }
  const std::lock_guard lock(model_.mutex);
  std::vector<std::pair<Place, Task>> rest;
  for (const auto& [number, held] : model_.tasks) {
    Task task = view_without_history(held);
    if (!matches(query, task)) continue;
    const Place place = place_of(query.kind, held);
    if (!start || place > *start) rest.emplace_back(place, std::move(task));
  }
  std::ranges::sort(rest, {}, [](const auto& each) { return each.first; });

  Page page{.as_of = model_.now()};
  std::size_t bytes = 0;
  for (const auto& [place, task] : rest) {
    bytes += bytes_of(task);
    const bool is_full = page.tasks.size() == static_cast<std::size_t>(query.limit);
    if (is_full || (bytes > kMaxPageBytes && !page.tasks.empty())) {
      page.next = cursor_after(query.kind, rest[page.tasks.size() - 1].first);
      break;
    }
    page.tasks.push_back(task);
  }
  return page;
}

}  // namespace horae::testing
