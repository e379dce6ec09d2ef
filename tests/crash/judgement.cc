#include "tests/crash/judgement.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/sim/checker.h"

namespace horae::testing {
namespace {

std::vector<Task> all_tasks(Store& store) {
  std::vector<Task> tasks;
  ListQuery query{.kind = ListKind::kAll, .limit = kMaxPage};
  do {
    Page page = store.tasks().list(query).value();
    std::move(page.tasks.begin(), page.tasks.end(), std::back_inserter(tasks));
    query.cursor = page.next;
  } while (!query.cursor.empty());
  return tasks;
}

}  // namespace

int kills() {
  const char* wanted = std::getenv("HORAE_KILLS");
  return wanted == nullptr ? 200 : std::atoi(wanted);
}

bool WorkerLog::add(const std::string& line) {
  std::istringstream words(line);
  std::string word, id;
  int attempt = 0;
  words >> word >> id >> attempt;
  if (word == "unavailable") {
    ++unavailable;
    return false;
  }
  const auto task = parse_uuid(id);
  if (word == "submitted" && task.ok()) {
    ++submitted;
    history.records.push_back({.what = sim::Acknowledged{*task}});
  } else if (word == "claimed" && task.ok()) {
    history.records.push_back({.what = sim::Claimed{.task = *task, .attempt = attempt}});
  } else if (word == "completed" && task.ok()) {
    ++completed;
    history.records.push_back({.what = sim::Settled{.event = Event::kComplete,
                                                    .task = *task,
                                                    .attempt = attempt,
                                                    .verdict = Verdict::kAccepted,
                                                    .state = State::kCompleted}});
  } else {
    broken += line + "\n";
    return false;
  }
  return true;
}

RunningWorker::RunningWorker(const std::vector<std::string>& argv, WorkerLog& log)
    : log_(log), process_(argv), reader_([this] { read_lines(); }) {}

void RunningWorker::read_lines() {
  while (const auto line = process_.read_line()) {
    const bool acknowledges = log_.add(*line);
    const std::lock_guard lock(mutex_);
    acknowledged_ += acknowledges ? 1 : 0;
    changed_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

bool RunningWorker::wait_for_acknowledgements(std::size_t count) {
  std::unique_lock lock(mutex_);
  const std::size_t wanted = acknowledged_ + count;
  changed_.wait(lock, [&] { return acknowledged_ >= wanted || ended_; });
  return acknowledged_ >= wanted;
}

void RunningWorker::kill() {
  if (!reader_.joinable()) return;
  process_.send_signal(SIGKILL);
  reader_.join();
  (void)process_.wait();
}

void complete_history(Store& store, WorkerLog& log, Counts counts) {
  sim::Ending& ending = log.history.ending;
  ending.tasks = all_tasks(store);
  if (counts == Counts::kExact) ending.queues = store.queues().queues().value().queues;
}

void expect_kept(Store& store, WorkerLog& log, Counts counts) {
  complete_history(store, log, counts);
  std::size_t shown = 0;
  for (const sim::Violation& each : sim::check(log.history)) {
    ADD_FAILURE() << each.rule << ": " << each.text;
    if (++shown == 20) break;
  }
  EXPECT_EQ(log.broken, "");
  EXPECT_GT(log.submitted, 0U);
  EXPECT_GT(log.completed, 0U);
  ::testing::Test::RecordProperty("submitted", static_cast<int>(log.submitted));
  ::testing::Test::RecordProperty("completed", static_cast<int>(log.completed));
  ::testing::Test::RecordProperty("unavailable", static_cast<int>(log.unavailable));
}

}  // namespace horae::testing
