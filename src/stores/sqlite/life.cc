#include "stores/sqlite/life.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "stores/sqlite/statements.h"

namespace horae::sqlite {
namespace {

// A row of the trail makes one or two entries of the history, so these many rows hold all entries that a history keeps.
constexpr int kTrailRows = kMaxHistory;
constexpr int kTrailFirstRows = kHistoryFirst;

std::optional<Life> read_life(Statement& row) {
  if (!row.next()) return std::nullopt;
  Life life{.number = row.integer(0),
            .queue = row.integer(1),
            .state = static_cast<State>(row.small(2)),
            .attempt = row.small(3),
            .tries = row.small(4),
            .progress = row.real(5),
            .owner = row.optional_text(6),
            .started_at = row.optional_instant(7),
            .lease_expires = row.optional_instant(8),
            .recurring = row.optional_duration(11),
            .lease = row.optional_duration(12)};
  if (!row.is_null(9)) life.ended = AttemptEnd{static_cast<Event>(row.small(9)), row.text(10)};
  row.finish();
  return life;
}

bool has_row(Statement& statement) {
  const bool found = statement.next();
  statement.finish();
  return found;
}

}  // namespace

Lives::Lives(Writer& writer)
    : number_of_(writer.database(), statement("life_number")),
      by_number_(writer.database(), statement("life_by_number")),
      queue_name_(writer.database(), statement("life_queue_name")),
      rules_(writer.database(), statement("life_rules")),
      insert_trail_(writer.database(), statement("trail_insert")),
      prune_trail_(writer.database(), statement("trail_prune")),
      count_omitted_(writer.database(), statement("trail_count_omitted")),
      trail_rows_(writer.database(), statement("trail_rows")),
      append_trail_(writer.database(), statement("trail_append")),
      drop_trail_(writer.database(), statement("trail_drop")),
      find_assignment_(writer.database(), statement("trail_find_assignment")),
      drop_assignment_(writer.database(), statement("trail_drop_assignment")) {}

std::optional<Life> Lives::find(const TaskId& id) {
  if (!number_of_.start(id).next()) return std::nullopt;
  const std::int64_t number = number_of_.integer(0);
  number_of_.finish();
  return find(number);
}

std::optional<Life> Lives::find(const TaskId& id, const Scope& scope) {
  auto life = find(id);
  if (life && scope && !scope->allows(queue_name(life->queue))) return std::nullopt;
  return life;
}

std::string Lives::queue_name(std::int64_t queue) {
  std::string name;
  if (queue_name_.start(queue).next()) name = queue_name_.text(0);
  queue_name_.finish();
  return name;
}

std::optional<Life> Lives::find(std::int64_t number) { return read_life(by_number_.start(number)); }

Rules Lives::rules_of(const Life& life) {
  Rules rules;
  if (rules_.start(life.number).next()) {
    rules = {.max_attempts = rules_.small(0),
             .retry = {.kind = static_cast<RetryPolicy::Kind>(rules_.small(1)),
                       .delay = rules_.duration(2),
                       .factor = rules_.real(3),
                       .cap = rules_.duration(4),
                       .jitter = rules_.real(5)}};
    rules_.finish();
  }
  return rules;
}

void Lives::insert_trail(std::int64_t number, HistoryKind kind, int attempt, std::string_view worker,
                         std::optional<Instant> started_at, Instant now, std::optional<double> progress,
                         std::string_view detail) {
  insert_trail_.run(number, kind, attempt, worker, started_at, now, progress, detail);
  prune_trail(number);
}

void Lives::prune_trail(std::int64_t number) {
  int omitted = 0;
  prune_trail_.start(number, kTrailRows, kTrailFirstRows, HistoryKind::kAssignment);
  while (prune_trail_.next()) omitted += prune_trail_.small(0) != 0 ? 2 : 1;  // with its assignment
  if (omitted > 0) count_omitted_.run(omitted, number);
}

bool Lives::is_assignment_noted(const Life& life) { return has_row(find_assignment_.start(life.number, life.attempt)); }

void Lives::note(const Life& life, HistoryKind kind, Instant now, std::optional<double> progress,
                 std::string_view detail) {
  // If the assignment has a row of its own (a late result came between), the row of the end must not have it again.
  const auto started_at = is_assignment_noted(life) ? std::nullopt : life.started_at;
  if (kind == HistoryKind::kAssignment && !started_at) return;
  insert_trail(life.number, kind, life.attempt, life.owner.value_or(""), started_at, now, progress, detail);
}

// As prune_trail() does it row by row.
Lives::Surplus Lives::surplus_of(std::size_t rows) {
  const std::size_t count = rows > kTrailRows ? rows - kTrailRows : 0;
  return {.begin = kTrailFirstRows, .end = kTrailFirstRows + count};
}

std::map<std::int64_t, Lives::Trail> Lives::trails_of(const LateResultsByTask& tasks) {
  std::map<std::int64_t, Trail> trails;
  std::vector<std::int64_t> numbers;
  for (const auto& [number, results] : tasks) numbers.push_back(number);
  const std::string list = fmt::format("[{}]", fmt::join(numbers, ","));
  trail_rows_.start(list);
  while (trail_rows_.next()) {
    trails[trail_rows_.integer(0)].push_back({.place = trail_rows_.integer(1),
                                              .kind = static_cast<HistoryKind>(trail_rows_.small(2)),
                                              .attempt = trail_rows_.small(3),
                                              .worker = trail_rows_.text(4),
                                              .has_assignment = trail_rows_.small(5) != 0});
  }
  return trails;
}

void Lives::note_late_results(const LateResultsByTask& tasks, Instant now) {
  if (tasks.empty()) return;
  const auto trails = trails_of(tasks);
  const Trail none;
  for (const auto& [number, late] : tasks) {
    const auto found = trails.find(number);
    append_late_results(late, found == trails.end() ? none : found->second, now);
  }
}

void Lives::append_late_results(const LateResults& late, const Trail& old, Instant now) {
  const Life& life = late.life;
  // The present assignment needs a row before the late results only if their times do not show the order.
  bool needs_assignment = life.started_at && now <= *life.started_at;
  std::set<std::pair<int, std::string_view>> noted;
  for (const TrailRow& row : old) {
    if (row.kind == HistoryKind::kLateResult) noted.emplace(row.attempt, row.worker);
    if (row.has_assignment && row.attempt == life.attempt) needs_assignment = false;
  }
  std::vector<const LateResult*> fresh;
  for (const LateResult& result : late.results) {
    if (noted.emplace(result.attempt, result.owner).second) fresh.push_back(&result);
  }
  if (fresh.empty()) return;
  if (needs_assignment) fresh.insert(fresh.begin(), nullptr);

  const Surplus surplus = surplus_of(old.size() + fresh.size());
  int omitted = drop_old(life.number, old, surplus);
  std::int64_t place = old.empty() ? 0 : old.back().place;
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    ++place;
    if (surplus.has(old.size() + i)) {
      ++omitted;
    } else if (fresh[i] == nullptr) {
      append_trail_.run(life.number, place, HistoryKind::kAssignment, life.attempt, life.owner.value_or(""),
                        life.started_at, *life.started_at, "");
    } else {
      append_trail_.run(life.number, place, HistoryKind::kLateResult, fresh[i]->attempt, fresh[i]->owner, nullptr, now,
                        fresh[i]->detail);
    }
  }
  if (omitted > 0) count_omitted_.run(omitted, life.number);
}

// Deletes the surplus rows, and returns how many entries of the history they were.
int Lives::drop_old(std::int64_t number, const Trail& old, const Surplus& surplus) {
  int entries = 0;
  std::int64_t last = 0;
  for (std::size_t i = surplus.begin; i < std::min(surplus.end, old.size()); ++i) {
    entries += old[i].entries();
    last = old[i].place;
  }
  if (entries > 0) drop_trail_.run_any(number, old[surplus.begin].place, last);
  return entries;
}

void Lives::forget_assignment(const Life& life) {
  drop_assignment_.run_any(life.number, HistoryKind::kAssignment, life.attempt);
}

}  // namespace horae::sqlite
