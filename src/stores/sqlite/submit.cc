#include "stores/sqlite/submit.h"

#include <fmt/format.h>

#include "stores/sqlite/statements.h"

namespace horae::sqlite {
namespace {

// The insert was ignored, and no task has this id or key: its number is taken.
Error not_stored(const Submission& submission, std::int64_t number) {
  return {ErrorCode::kInternal,
          fmt::format("task {}: was not stored, because its number {} is taken by another task: another program writes "
                      "to this SQLite database; stop it, and submit again",
                      to_string(submission.id()), number)};
}

}  // namespace

Submitter::Submitter(Writer& writer)
    : writer_(writer),
      insert_task_(writer.database()),
      insert_life_(writer.database(), statement("submit_life")),
      start_(writer.database(), statement("submit_start")),
      find_id_(writer.database(), statement("submit_find_id")),
      find_key_(writer.database(), statement("submit_find_key")) {}

std::vector<SubmitOutcome> Submitter::submit(std::span<const Submission> submissions, Change& change) {
  std::vector<SubmitOutcome> outcomes;
  outcomes.reserve(submissions.size());
  KnownQueues known;
  for (const Submission& submission : submissions) outcomes.push_back(submit_one(submission, known, change));
  return outcomes;
}

SubmitOutcome Submitter::submit_one(const Submission& submission, KnownQueues& known, Change& change) {
  const NewTask& task = submission.task;
  const std::string digest = request_digest(task);
  auto queue = known.find(task.queue);
  if (queue == known.end()) {
    auto found = writer_.find_queue(task.queue);
    if (!found) {
      // A queue is made only for a task that will be stored in it.
      if (auto present = find_present(submission, digest, 0)) return *present;
      const QueueAllowance* const allowance = submission.allowance.get();
      if (allowance && writer_.queues_made_by(allowance->token) >= allowance->most) {
        return {.kind = SubmitOutcome::Kind::kOverAllowance, .id = submission.id()};
      }
      found =
          writer_.find_or_make_queue(task.queue, change, allowance ? std::optional(allowance->token) : std::nullopt);
      if (!found) return {.kind = SubmitOutcome::Kind::kOverLimit, .id = submission.id()};
    }
    queue = known.emplace(task.queue, *found).first;
  }
  const QueueRow& row = queue->second;

  const std::int64_t number = writer_.next_number();
  const bool inserted = insert_task_.insert({number, row.no, submission.id(), change.now(), digest}, task);
  if (!inserted) {
    if (auto present = find_present(submission, digest, row.no)) return *present;
    writer_.database().fail(not_stored(submission, number));
    return {};
  }

  SubmitOutcome outcome{.kind = SubmitOutcome::Kind::kCreated, .id = submission.id(), .number = number};
  insert_life(number, task, row, outcome, change);
  if (submission.start) {
    const Start& start = *submission.start;
    start_.run(start.owner, start.token, start.lease, change.after(start.lease), change.now(), number);
    change.moved(row.no, State::kReady, State::kRunning);
    outcome.state = State::kRunning;
  }
  return outcome;
}

std::optional<SubmitOutcome> Submitter::find_present(const Submission& submission, std::string_view digest,
                                                     std::int64_t queue) {
  const auto read = [](Statement& row) -> std::optional<SubmitOutcome> {
    if (!row.next()) return std::nullopt;
    const auto kind = row.small(3) != 0 ? SubmitOutcome::Kind::kPresent : SubmitOutcome::Kind::kConflict;
    SubmitOutcome outcome{kind, row.uuid(0), row.integer(1), static_cast<State>(row.small(2))};
    row.finish();
    return outcome;
  };
  if (submission.task.key) {
    if (auto same_key = read(find_key_.start(Blob{digest}, queue, *submission.task.key))) return same_key;
  }
  return read(find_id_.start(Blob{digest}, submission.id()));
}

void Submitter::insert_life(std::int64_t number, const NewTask& task, const QueueRow& queue, SubmitOutcome& outcome,
                            Change& change) {
  const Instant run_at = task.run_at.value_or(change.now());
  const bool later = run_at > change.now();
  outcome.state = later ? State::kScheduled : State::kReady;
  if (later) {
    insert_life_.run(number, queue.no, outcome.state, run_at, task.recurring, nullptr, nullptr, change.now());
  } else {
    insert_life_.run(number, queue.no, outcome.state, run_at, task.recurring,
                     rank_of(queue.ageing, change.now_second(), task.priority), change.now_second(), change.now());
  }
  change.moved(queue.no, std::nullopt, outcome.state);
}

}  // namespace horae::sqlite
