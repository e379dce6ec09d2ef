#include "stores/sqlite/life.h"

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
      find_late_(writer.database(), statement("trail_find_late")),
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

void Lives::note_late_result(const Life& life, int attempt, std::string_view owner, Instant now,
                             std::string_view detail) {
  if (has_row(find_late_.start(life.number, HistoryKind::kLateResult, attempt, owner))) return;
  // The present assignment came before the late result, so its row must be before it.
  if (life.started_at) note(life, HistoryKind::kAssignment, *life.started_at, std::nullopt, "");
  insert_trail(life.number, HistoryKind::kLateResult, attempt, owner, std::nullopt, now, std::nullopt, detail);
}

void Lives::forget_assignment(const Life& life) {
  drop_assignment_.run_any(life.number, HistoryKind::kAssignment, life.attempt);
}

}  // namespace horae::sqlite
