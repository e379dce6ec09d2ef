#include "stores/postgres/tasks/task_row.h"

#include <string_view>

#include "base/member_count.h"
#include "stores/postgres/connection/params.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/values.h"
#include "stores/postgres/layout/places.h"
#include "stores/postgres/tasks/insertion.h"

namespace horae::postgres {
namespace {

const Sql kInsertPlainTask = statement("insert_plain_task", Changes::kOne);
const Sql kInsertPlainTasks = statement("insert_plain_tasks", Changes::kEach);
const Sql kInsertTasks = statement("insert_tasks", Changes::kEach);

static_assert(member_count<NewTask>() == 9, "a new member is also inserted and read here, and is_plain() considers it");

bool is_plain(const NewTask& task) {
  return !task.key && !task.run_at && !task.recurring && task.max_attempts == 0 && task.retry == RetryPolicy{};
}

}  // namespace

const Sql kReadTasks = statement("tasks");
const Sql kListTasks = statement("list_tasks");

std::optional<std::int32_t> attempts_limit(const NewTask& task) {
  return task.max_attempts > 0 ? std::optional(task.max_attempts) : std::nullopt;
}

void insert_task_rows(Transaction& transaction, const std::vector<NewEntry>& entries) {
  struct Columns {
    std::vector<std::int64_t> number;
    std::vector<TaskId> id;
    std::vector<std::int32_t> queue;
    std::vector<std::int16_t> priority;
    std::vector<std::string_view> spec;

    void add(const NewEntry& entry) {
      const NewTask& task = entry.submission->task;
      number.push_back(entry.number);
      id.push_back(entry.submission->id());
      queue.push_back(entry.queue);
      priority.push_back(static_cast<std::int16_t>(task.priority));
      spec.push_back(task.spec);
    }
  };
  Columns plain, special;
  std::vector<std::optional<std::string_view>> key;
  std::vector<std::optional<Instant>> run_at;
  std::vector<std::optional<Duration>> recurring, retry_delay, retry_cap;
  std::vector<std::optional<std::int32_t>> max_attempts;
  std::vector<std::optional<std::int16_t>> retry_kind;
  std::vector<std::optional<double>> retry_factor, retry_jitter;
  for (const NewEntry& entry : entries) {
    const NewTask& task = entry.submission->task;
    if (is_plain(task)) {
      plain.add(entry);
      continue;
    }
    special.add(entry);
    key.emplace_back(task.key);
    run_at.push_back(task.run_at);
    recurring.push_back(task.recurring);
    max_attempts.push_back(attempts_limit(task));
    const bool own_policy = task.retry != RetryPolicy{};
    const auto if_own = [&](auto value) { return own_policy ? std::optional(value) : std::nullopt; };
    retry_kind.push_back(if_own(static_cast<std::int16_t>(task.retry.kind)));
    retry_delay.push_back(if_own(task.retry.delay));
    retry_factor.push_back(if_own(task.retry.factor));
    retry_cap.push_back(if_own(task.retry.cap));
    retry_jitter.push_back(if_own(task.retry.jitter));
  }
  if (plain.number.size() == 1) {
    transaction.send(kInsertPlainTask,
                     Params::of(plain.number[0], plain.id[0], plain.queue[0], plain.priority[0], plain.spec[0]));
  } else if (!plain.number.empty()) {
    transaction.send(kInsertPlainTasks, Params::of(plain.number, plain.id, plain.queue, plain.priority, plain.spec));
  }
  if (!special.number.empty()) {
    transaction.send(kInsertTasks, Params::of(special.number, special.id, special.queue, special.priority, special.spec,
                                              key, run_at, recurring, max_attempts, retry_kind, retry_delay,
                                              retry_factor, retry_cap, retry_jitter));
  }
}

Task read_task_row(const Row& row) {
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

}  // namespace horae::postgres
