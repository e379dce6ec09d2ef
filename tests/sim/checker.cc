#include "tests/sim/checker.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "tests/sim/judge.h"

namespace horae::sim {
namespace {

// The rules that hold in any order of the records.
class UnorderedChecker {
 public:
  explicit UnorderedChecker(const History& history) : history_(history) {
    for (const Task& task : history.ending.tasks) tasks_.emplace(task.id, &task);
  }

  std::vector<Violation> judge() && {
    for (const Record& record : history_.records) {
      if (const auto* acknowledged = std::get_if<Acknowledged>(&record.what)) expect_present(acknowledged->task);
      if (const auto* claimed = std::get_if<Claimed>(&record.what)) judge_claim(*claimed);
      if (const auto* settled = std::get_if<Settled>(&record.what)) judge_settled(*settled);
    }
    return std::move(violations_);
  }

 private:
  const Task* expect_present(const TaskId& id) {
    const auto found = tasks_.find(id);
    if (found != tasks_.end()) return found->second;
    violate("lost", id, "is missing in the store");
    return nullptr;
  }

  void judge_claim(const Claimed& fact) {
    if (!claimed_.emplace(fact.task, fact.attempt).second) {
      violate("doubled", fact.task, fmt::format("attempt {} was handed out twice", fact.attempt));
    }
    const Task* task = expect_present(fact.task);
    if (task != nullptr && task->attempt < fact.attempt) {
      violate("lost", fact.task, fmt::format("the store has lost attempt {}", fact.attempt));
    }
  }

  void judge_settled(const Settled& fact) {
    if (fact.event != Event::kComplete || !is_success(fact.verdict)) return;
    const Task* task = expect_present(fact.task);
    if (task == nullptr || task->recurring) return;
    if (task->state != State::kCompleted || task->attempt != fact.attempt) {
      violate("final", fact.task,
              fmt::format("attempt {} completed it, but it is {} with attempt {}", fact.attempt,
                          std::string(to_string(task->state)), task->attempt));
    }
  }

  void violate(std::string_view rule, const TaskId& id, std::string_view text) {
    violations_.push_back({std::string(rule), history_.ending.at, fmt::format("task {}: {}", to_string(id), text)});
  }

  const History& history_;
  std::unordered_map<TaskId, const Task*> tasks_;
  std::set<std::pair<TaskId, int>> claimed_;
  std::vector<Violation> violations_;
};

using Counts = std::array<std::int64_t, kAllStates.size()>;

void judge_counts(const Ending& ending, std::vector<Violation>& violations) {
  std::map<std::string, Counts> counted;
  for (const Task& task : ending.tasks) ++counted[task.queue][static_cast<std::size_t>(task.state)];
  for (const QueueInfo& queue : ending.queues) {
    const Counts reported = {queue.scheduled, queue.ready,   queue.running,
                             queue.completed, queue.aborted, queue.cancelled};
    if (reported == counted[queue.name]) continue;
    std::string text = fmt::format("queue {}:", queue.name);
    for (const State state : kAllStates) {
      const auto place = static_cast<std::size_t>(state);
      text += fmt::format(" {} {} of {}", std::string(to_string(state)), reported[place], counted[queue.name][place]);
    }
    violations.push_back({"counts", ending.at, text});
  }
}

}  // namespace

std::vector<Violation> check(const History& history) {
  std::vector<Violation> violations;
  if (history.in_order) {
    Judge judge(history);
    for (const Record& record : history.records) judge.take(record);
    judge.judge_ending(history.ending);
    violations = std::move(judge).violations();
  } else {
    violations = UnorderedChecker(history).judge();
  }
  judge_counts(history.ending, violations);
  return violations;
}

}  // namespace horae::sim
