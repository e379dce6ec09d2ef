#include "stores/sqlite/task_row.h"

#include "base/member_count.h"
#include "stores/sqlite/statements.h"

namespace horae::sqlite {
namespace {

static_assert(member_count<NewTask>() == 9, "a new member is also inserted and read here");

// Columns of task_row_read.
constexpr int kHasCheckpoint = 25;
constexpr int kTrailOmitted = 26;

Task columns_of(const Statement& row) {
  return {.id = row.uuid(1),
          .number = row.integer(0),
          .key = row.optional_text(3),
          .queue = row.text(2),
          .priority = row.small(4),
          .spec = row.text(5),
          .state = static_cast<State>(row.small(6)),
          .progress = row.real(7),
          .created_at = row.instant(8),
          .updated_at = row.instant(9),
          .run_at = row.instant(10),
          .recurring = row.optional_duration(11),
          .attempt = row.small(12),
          .tries = row.small(13),
          .max_attempts = row.small(14),
          .retry = {.kind = static_cast<RetryPolicy::Kind>(row.small(15)),
                    .delay = row.duration(16),
                    .factor = row.real(17),
                    .cap = row.duration(18),
                    .jitter = row.real(19)},
          .owner = row.optional_text(20),
          .started_at = row.optional_instant(21),
          .lease_expires = row.optional_instant(22),
          .result = row.optional_text(23),
          .cancel_reason = row.optional_text(24),
          .history = History(static_cast<std::uint64_t>(row.integer(kTrailOmitted)))};
}

}  // namespace

TaskRowInserter::TaskRowInserter(Database& database) : statement_(database, statement("task_row_insert")) {}

bool TaskRowInserter::insert(const NewTaskRow& row, const NewTask& task) {
  return statement_.run_any(row.number, row.id, row.queue, task.key, task.priority, row.created_at, task.max_attempts,
                            task.retry.kind, task.retry.delay, task.retry.factor, task.retry.cap, task.retry.jitter,
                            Blob{row.digest}, task.spec) > 0;
}

TaskRowReader::TaskRowReader(Database& database) : statement_(database, statement("task_row_read")) {}

std::optional<TaskRow> TaskRowReader::read(std::int64_t number) {
  std::optional<TaskRow> row;
  if (statement_.start(number).next()) row = {columns_of(statement_), statement_.small(kHasCheckpoint) != 0};
  statement_.finish();
  return row;
}

}  // namespace horae::sqlite
