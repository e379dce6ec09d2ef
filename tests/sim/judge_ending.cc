// The rules for the end of a run.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "tests/sim/judge.h"

namespace horae::sim {
namespace {

using Trail = std::multiset<std::pair<HistoryKind, int>>;

Trail expected_trail(const Life& life) {
  Trail trail;
  for (int number = 1; number <= life.attempt(); ++number) {
    const Attempt& attempt = life.attempts[static_cast<std::size_t>(number - 1)];
    if (attempt.ended != Event::kRelease) trail.emplace(HistoryKind::kAssignment, number);
    if (attempt.ended == Event::kExpire) trail.emplace(HistoryKind::kTimeout, number);
    if (attempt.ended == Event::kYield) trail.emplace(HistoryKind::kYield, number);
    if (attempt.is_retried) trail.emplace(HistoryKind::kRetry, number);
    for (std::size_t i = 0; i < attempt.late.size(); ++i) trail.emplace(HistoryKind::kLateResult, number);
  }
  return trail;
}

}  // namespace

void Judge::judge_ending(const Ending& ending) {
  now_ = ending.at;
  std::set<TaskId> seen;
  for (const Task& task : ending.tasks) {
    seen.insert(task.id);
    judge_task(task);
  }
  std::size_t missing = 0;
  for (const auto& [id, life] : ledger_.lives()) {
    if (seen.contains(id)) continue;
    ++missing;
    judge_missing(life);
  }
  if (missing != purged_) {
    violate("retention", fmt::format("{} tasks are missing, but {} were purged", missing, purged_));
  }
  while (!waiting_.empty()) judge_wait(std::string(waiting_.begin()->first));
}

void Judge::judge_missing(const Life& life) {
  const Duration retention = ledger_.queue(life.born.wish.queue).settings.retention;
  if (!is_terminal(life.state)) {
    violate("lost", life.born.task, fmt::format("is missing, but it was {}", std::string(to_string(life.state))));
  } else if (life.updated + retention >= last_purge_) {
    violate("retention", life.born.task, "was purged before its time");
  }
}

void Judge::judge_task(const Task& task) {
  const Life* life = ledger_.find(task.id);
  if (life == nullptr) return violate("differs", task.id, "is in the store, but was never submitted");
  const bool same_run_at = task.state != State::kScheduled || task.run_at == life->run_at;
  if (task.state != life->state || task.attempt != life->attempt() || task.tries != life->tries || !same_run_at) {
    violate("differs", task.id,
            fmt::format("is {}, attempt {}, tries {} in the store, but {}, attempt {}, tries {} in the history",
                        std::string(to_string(task.state)), task.attempt, task.tries,
                        std::string(to_string(life->state)), life->attempt(), life->tries));
  }
  judge_end_of_waiting(task);
  judge_trail(*life, task);
  judge_times(*life, task);
}

// A ready recurring task may wait for a busy worker; the rule `idle` covers that.
void Judge::judge_end_of_waiting(const Task& task) {
  if (phase_ != Phase::Kind::kEnd || is_terminal(task.state)) return;
  const bool is_late = task.state == State::kScheduled && now_ - task.run_at > promises_.patient;
  if (task.recurring && !is_late) return;
  violate("unfinished", task.id,
          fmt::format("is still {} at the end{}", std::string(to_string(task.state)),
                      task.recurring ? ", and late for its turn" : ""));
}

void Judge::judge_trail(const Life& life, const Task& task) {
  Trail recorded;
  for (const HistoryEntry& entry : task.history.entries()) recorded.emplace(entry.kind, entry.attempt);
  const Trail expected = expected_trail(life);
  const bool as_expected =
      task.history.omitted() > 0 ? std::ranges::includes(expected, recorded) : recorded == expected;
  if (as_expected) return;
  std::string both = "its history has";
  for (const auto& [kind, attempt] : recorded) both += fmt::format(" {}({})", std::string(to_string(kind)), attempt);
  both += ", but should have";
  for (const auto& [kind, attempt] : expected) both += fmt::format(" {}({})", std::string(to_string(kind)), attempt);
  violate("trail", task.id, both);
}

void Judge::judge_times(const Life& life, const Task& task) {
  Instant last = Instant::min();
  for (const HistoryEntry& entry : task.history.entries()) {
    if (entry.time < last) violate("times", task.id, "has a history that is out of order");
    last = entry.time;
    if (entry.kind != HistoryKind::kAssignment || entry.attempt < 1 || entry.attempt > life.attempt()) continue;
    if (entry.time != life.attempts[static_cast<std::size_t>(entry.attempt - 1)].at) {
      violate("times", task.id, fmt::format("dates attempt {} otherwise than it was handed out", entry.attempt));
    }
  }
}

}  // namespace horae::sim
