// kill -9 at any moment: nothing acknowledged is lost, and no attempt is given twice.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "stores/sqlite/sqlite_store.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

// What the killed processes had been told by the store.
struct Told {
  std::set<std::string> submitted;
  std::set<std::pair<std::string, int>> claimed;
  std::map<std::string, int> completed;  // by which attempt
  int claimed_twice = 0;

  void add(const std::string& line) {
    std::istringstream words(line);
    std::string word, id;
    int attempt = 0;
    words >> word >> id >> attempt;
    if (word == "submitted") submitted.insert(id);
    if (word == "claimed") claimed_twice += claimed.emplace(id, attempt).second ? 0 : 1;
    if (word == "completed") completed[id] = attempt;
  }
};

int kills() {
  const char* wanted = std::getenv("HORAE_KILLS");  // make soak asks for more
  return wanted == nullptr ? 200 : std::atoi(wanted);
}

TEST(SqliteCrash, KillsAtAnyMomentLoseNothingAndRepeatNoAttempt) {
  const TemporaryFolder folder;
  const std::string url = "sqlite:" + folder.path() + "/horae.db";
  SeededRandom random(20261116);
  Told told;
  for (int kill = 0; kill < kills(); ++kill) {
    Process worker({STORE_WORKER, url});
    for (auto lines = random.below(60); lines > 0; --lines) {
      const auto line = worker.read_line();
      ASSERT_TRUE(line.has_value()) << "the worker ended by itself";
      told.add(*line);
    }
    worker.send_signal(SIGKILL);
    ASSERT_EQ(worker.wait().signal, SIGKILL);
    // What it still said before it died counts as well; the last line may be cut.
    while (const auto line = worker.read_line()) told.add(*line);
  }

  const SystemClock clock;
  const auto store = std::move(open_sqlite_store(url, clock)).value();
  const auto get = [&](const std::string& id) {
    const std::vector<TaskId> ids = {parse_uuid(id).value()};
    return store->tasks().get(ids).value().at(0);
  };
  for (const std::string& id : told.submitted) EXPECT_TRUE(get(id).has_value()) << "lost " << id;
  for (const auto& [id, attempt] : told.completed) {
    const auto task = get(id);
    ASSERT_TRUE(task.has_value()) << "lost " << id;
    EXPECT_EQ(task->state, State::kCompleted) << id;
    EXPECT_EQ(task->attempt, attempt) << id;
  }
  EXPECT_EQ(told.claimed_twice, 0);
  EXPECT_GT(told.submitted.size(), 0U);
  EXPECT_GT(told.completed.size(), 0U);
  RecordProperty("submitted", static_cast<int>(told.submitted.size()));
  RecordProperty("completed", static_cast<int>(told.completed.size()));
}

}  // namespace
}  // namespace horae::testing
