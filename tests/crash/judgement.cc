#include "tests/crash/judgement.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <sstream>
#include <vector>

namespace horae::testing {
namespace {

using Tasks = std::map<TaskId, Task>;

// Those of the tasks that the store still has.
Tasks tasks_in(Store& store, const std::set<TaskId>& wanted) {
  Tasks found;
  for (auto next = wanted.begin(); next != wanted.end();) {
    std::vector<TaskId> ids;
    while (next != wanted.end() && ids.size() < kMaxBatch) ids.push_back(*next++);
    for (auto& task : store.tasks().get(ids).value()) {
      if (task) found.emplace(task->id, std::move(*task));
    }
  }
  return found;
}

}  // namespace

int kills() {
  const char* wanted = std::getenv("HORAE_KILLS");
  return wanted == nullptr ? 200 : std::atoi(wanted);
}

bool Told::add(const std::string& line) {
  std::istringstream words(line);
  std::string word, id;
  int attempt = 0;
  words >> word >> id >> attempt;
  if (word == "away") {
    ++away;
    return false;
  }
  const auto task = parse_uuid(id);
  if (word == "submitted" && task.ok()) {
    submitted.insert(*task);
  } else if (word == "claimed" && task.ok()) {
    claimed_twice += claimed.emplace(*task, attempt).second ? 0 : 1;
  } else if (word == "completed" && task.ok()) {
    completed[*task] = attempt;
  } else {
    broken += line + "\n";
    return false;
  }
  return true;
}

RunningWorker::RunningWorker(const std::string& url, Told& told)
    : told_(told), process_({STORE_WORKER, url}), listener_([this] { listen(); }) {}

void RunningWorker::listen() {
  while (const auto line = process_.read_line()) {
    const bool acknowledges = told_.add(*line);
    const std::lock_guard lock(mutex_);
    acknowledged_ += acknowledges ? 1 : 0;
    said_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  said_.notify_all();
}

bool RunningWorker::wait_for_acknowledgements(std::size_t count) {
  std::unique_lock lock(mutex_);
  const std::size_t wanted = acknowledged_ + count;
  said_.wait(lock, [&] { return acknowledged_ >= wanted || ended_; });
  return acknowledged_ >= wanted;
}

void RunningWorker::kill() {
  if (!listener_.joinable()) return;
  process_.send_signal(SIGKILL);
  listener_.join();
  (void)process_.wait();
}

void expect_kept(Store& store, const Told& told) {
  const Tasks tasks = tasks_in(store, told.submitted);
  for (const TaskId& id : told.submitted) EXPECT_TRUE(tasks.contains(id)) << "lost " << to_string(id);
  // A submit that was not acknowledged may have happened, so that there are claims of others, too.
  std::set<TaskId> others;
  for (const auto& [id, attempt] : told.claimed) {
    if (!told.submitted.contains(id)) others.insert(id);
  }
  Tasks all = tasks_in(store, others);
  all.insert(tasks.begin(), tasks.end());
  for (const auto& [id, attempt] : told.claimed) {
    ASSERT_TRUE(all.contains(id)) << "lost " << to_string(id);
    EXPECT_GE(all.at(id).attempt, attempt) << "forgot a claim of " << to_string(id);
  }
  for (const auto& [id, attempt] : told.completed) {
    ASSERT_TRUE(all.contains(id)) << "lost " << to_string(id);
    EXPECT_EQ(all.at(id).state, State::kCompleted) << to_string(id);
    EXPECT_EQ(all.at(id).attempt, attempt) << to_string(id);
  }
  EXPECT_EQ(told.claimed_twice, 0U);
  EXPECT_EQ(told.broken, "");
  EXPECT_GT(told.submitted.size(), 0U);
  EXPECT_GT(told.completed.size(), 0U);
  ::testing::Test::RecordProperty("submitted", static_cast<int>(told.submitted.size()));
  ::testing::Test::RecordProperty("completed", static_cast<int>(told.completed.size()));
  ::testing::Test::RecordProperty("away", static_cast<int>(told.away));
}

}  // namespace horae::testing
