#include "api/explain.h"

#include <fmt/format.h>

#include "base/duration.h"
#include "base/time_text.h"

namespace horae {
namespace {

// A waiting worker renews its mark every second, so after this time no worker is waiting any more.
constexpr Duration kStillAwaited = std::chrono::seconds(15);

Reason not_due(const Circumstances& known) {
  return {"not_due", fmt::format("it is due at {}", format_instant(known.task.run_at))};
}

Reason running(const Circumstances& known) {
  const std::string owner = known.task.owner.value_or("an unknown worker");
  if (known.chore) {
    return {"in_backlog",
            fmt::format("attempt {} is leased to {}, this node, and has not started: it waits for a slot (level {}, {} "
                        "before it)",
                        known.task.attempt, owner, known.chore->level, known.chore->ahead)};
  }
  if (known.other_node) {
    return {"running",
            fmt::format("it is running: attempt {} on {}, which is a node: it may wait for a slot there, ask "
                        "that node ({})",
                        known.task.attempt, owner, *known.other_node)};
  }
  return {"running", fmt::format("it is running: attempt {} on {}", known.task.attempt, owner)};
}

// "no_disk: full; late: by an hour"
std::string text_of(const std::vector<TaskError>& errors) {
  std::string words;
  for (const TaskError& error : errors) {
    if (!words.empty()) words += "; ";
    words += error.code;
    if (!error.description.empty()) words += ": " + error.description;
  }
  return words;
}

std::string why_it_ended(const Task& task) {
  if (task.state == State::kAborted) return text_of(task.errors);
  if (task.state == State::kCancelled) return task.cancel_reason.value_or("");
  return "";
}

Reason finished(const Circumstances& known) {
  std::string detail =
      fmt::format("it is {} since {}", to_string(known.task.state), format_instant(known.task.updated_at));
  if (const std::string why = why_it_ended(known.task); !why.empty()) detail += ": " + why;
  return {"finished", std::move(detail)};
}

std::optional<Reason> no_worker(const Circumstances& known) {
  const std::string& queue = known.task.queue;
  if (!known.last_awaited) {
    return Reason{"no_worker", fmt::format("no worker is known to have waited for tasks of queue {}", queue)};
  }
  if (known.now - *known.last_awaited <= kStillAwaited) return std::nullopt;
  return Reason{"no_worker", fmt::format("no worker has waited for tasks of queue {} since {}", queue,
                                         format_instant(*known.last_awaited))};
}

std::string count_of(std::size_t ahead) {
  if (ahead >= kMostAhead) return fmt::format("{} tasks or more are", kMostAhead);
  return ahead == 1 ? "1 task is" : fmt::format("{} tasks are", ahead);
}

std::vector<Reason> why_it_waits(const Circumstances& known) {
  std::vector<Reason> reasons;
  if (!known.is_scheduler_running) {
    reasons.push_back({"scheduler_stopped", "the scheduler is stopped: start it with `horae scheduler start`"});
  }
  if (known.is_queue_paused) {
    reasons.push_back({"queue_paused",
                       fmt::format("queue {0} is paused: resume it with `horae queue resume {0}`", known.task.queue)});
  }
  if (auto reason = no_worker(known)) reasons.push_back(std::move(*reason));
  if (known.ahead && *known.ahead > 0) {
    reasons.push_back(
        {"behind_others", fmt::format("{} ahead of it in queue {}", count_of(*known.ahead), known.task.queue)});
  }
  if (reasons.empty())
    reasons.push_back({"next", "it is the next task of its queue, and a worker claimed from the queue a moment ago"});
  return reasons;
}

}  // namespace

std::vector<Reason> explain(const Circumstances& circumstances) {
  switch (circumstances.task.state) {
    case State::kScheduled:
      return {not_due(circumstances)};
    case State::kReady:
      return why_it_waits(circumstances);
    case State::kRunning:
      return {running(circumstances)};
    case State::kCompleted:
    case State::kAborted:
    case State::kCancelled:
      return {finished(circumstances)};
  }
  return {};
}

}  // namespace horae
