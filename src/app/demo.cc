#include "app/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <ranges>

#include "base/time_text.h"
#include "engine/slots/spec.h"

namespace horae {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kQueue[] = "demo";
constexpr char kMailQueue[] = "demo.mail";
constexpr Duration kPoll = milliseconds(250);
constexpr int kShown = 200;  // newest tasks of a queue that are read

std::string sleep_spec(std::string_view name, std::string_view time) {
  return fmt::format(R"({{"run":"sleep","for":"{}","name":"{}"}})", time, name);
}

std::vector<NewTask> demo_tasks() {
  return {
      {.queue = kQueue, .priority = 10, .spec = sleep_spec("nightly report (long)", "20s")},
      {.queue = kQueue, .priority = 50, .spec = sleep_spec("resize photo 1", "2s")},
      {.queue = kQueue, .priority = 50, .spec = sleep_spec("resize photo 2", "2500ms")},
      {.queue = kQueue, .priority = 50, .spec = sleep_spec("resize photo 3", "3s")},
      {.queue = kQueue, .priority = 250, .spec = sleep_spec("restart a server (urgent)", "1s")},
      {.queue = kMailQueue, .priority = 100, .spec = sleep_spec("welcome mail", "500ms")},
      {.queue = kMailQueue, .priority = 60, .spec = sleep_spec("invoice by mail", "800ms")},
      // No executor can run this one: it fails three times.
      {.queue = kQueue,
       .spec = R"({"run":"teleport","name":"teleport a cat"})",
       .max_attempts = 3,
       .retry = {.kind = RetryPolicy::Kind::kFixed, .delay = seconds(2)}},
      {.key = "demo-heartbeat",
       .queue = kQueue,
       .spec = sleep_spec("heartbeat, each 5 s", "100ms"),
       .recurring = seconds(5)},
  };
}

std::string line_of(const Task& task) {
  const auto name = read_spec_text(task.spec, "name");
  std::string line = fmt::format("{:<9} {:<26} priority {:>3}  {}", task.queue, name.ok() ? *name : to_string(task.id),
                                 task.priority, to_string(task.state));
  if (task.state == State::kRunning) {
    line += fmt::format(" on {}, attempt {}, {:.0f} %", task.owner.value_or("?"), task.attempt, task.progress * 100);
  }
  if (task.state == State::kScheduled && task.recurring) line += fmt::format(", turn {} is done", task.attempt);
  if (task.state == State::kScheduled && task.tries > 0) line += fmt::format(" for another try, {} failed", task.tries);
  if (!task.errors.empty()) line += fmt::format(" after {} tries: {}", task.attempt, task.errors.front().code);
  return line;
}

}  // namespace

std::vector<std::string> demo_queues() { return {kQueue, kMailQueue}; }

Result<void> submit_demo(Store& store, UuidSource& ids) {
  std::vector<Submission> batch;
  for (NewTask& task : demo_tasks()) batch.push_back({.task = std::move(task), .new_id = ids.next()});
  const auto outcomes = store.tasks().submit(batch);
  if (!outcomes.ok()) return outcomes.error();
  return {};
}

MonotonicTime DemoReport::run_once(MonotonicTime now) {
  std::vector<Task> tasks;
  for (const std::string& queue : demo_queues()) {
    auto page = tasks_.list({.queue = queue, .limit = kShown});
    if (!page.ok()) return now + kPoll;
    std::ranges::move(page->tasks, std::back_inserter(tasks));
  }
  std::ranges::sort(tasks, {}, &Task::updated_at);
  for (const Task& task : tasks) {
    if (is_first_ && is_terminal(task.state)) {
      printed_[task.id] = line_of(task);
    } else {
      print(task);
    }
  }
  is_first_ = false;
  return now + kPoll;
}

void DemoReport::print(const Task& task) {
  std::string line = line_of(task);
  if (const auto found = printed_.find(task.id); found != printed_.end() && found->second == line) return;
  out_ << fmt::format("{}  {}", format_instant(clock_.wall_now()).substr(11, 8), line) << std::endl;
  printed_[task.id] = std::move(line);
}

}  // namespace horae
