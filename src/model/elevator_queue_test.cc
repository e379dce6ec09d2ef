#include "model/elevator_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace horae {
namespace {

using ::testing::ElementsAre;

struct Chore {
  ChoreId id;
  std::string name;
};

using Picture = std::vector<std::pair<int, std::vector<std::string>>>;

// A queue that is filled and looked at as in the SHIELD document.
class Scheduler {
 public:
  void submit(int level, const std::string& name) { queue_.push(level, {next_id_++, name}); }

  void submit(int level, int count, const std::string& name) {
    for (int i = 0; i < count; ++i) submit(level, name);
  }

  void elevate() { queue_.elevate(); }

  // Level by level, with repeated names as "15 long-running chores".
  Picture picture() const {
    std::map<int, std::vector<std::pair<std::string, int>>> levels;
    for (const auto& entry : queue_.backlog()) {
      auto& names = levels[entry.position.level];
      if (names.empty() || names.back().first != entry.chore.name) names.emplace_back(entry.chore.name, 0);
      ++names.back().second;
    }
    Picture picture;
    for (const auto& [level, names] : levels) {
      picture.emplace_back(level, std::vector<std::string>());
      for (const auto& [name, count] : names) {
        picture.back().second.push_back(count == 1 ? name : std::to_string(count) + " " + name);
      }
    }
    return picture;
  }

  std::vector<std::string> serve_all() {
    std::vector<std::string> served;
    while (auto chore = queue_.pop()) served.push_back(chore->name);
    return served;
  }

 private:
  ElevatorQueue<Chore> queue_;
  ChoreId next_id_ = 1;
};

constexpr const char* kBackup = "BACKUP 'Scheduled System' TO 'Cloud'";
constexpr const char* kTestStore = "TEST-STORE 'Cloud'";
constexpr const char* kLong = "long-running chores";
constexpr const char* kNew = "new long-running chores";
constexpr const char* kMoreNew = "more new long-running chores";

// "The scheduler accepts submitted chores and places them into a priority queue."
TEST(ShieldDocument, ExhaustsEachLevelInOrderOfSubmissionBeforeTheNext) {
  Scheduler scheduler;
  scheduler.submit(4, "PURGE 'fb182c4c-7031' FROM 'S3'");
  scheduler.submit(1, "BACKUP 'Some Database System' TO 'S3'");
  scheduler.submit(3, "TEST-STORE 'S3'");
  scheduler.submit(1, "BACKUP 'Web Files' TO 'S3'");

  EXPECT_EQ(scheduler.picture(), (Picture{{1, {"BACKUP 'Some Database System' TO 'S3'", "BACKUP 'Web Files' TO 'S3'"}},
                                          {3, {"TEST-STORE 'S3'"}},
                                          {4, {"PURGE 'fb182c4c-7031' FROM 'S3'"}}}));
  EXPECT_THAT(scheduler.serve_all(), ElementsAre("BACKUP 'Some Database System' TO 'S3'", "BACKUP 'Web Files' TO 'S3'",
                                                 "TEST-STORE 'S3'", "PURGE 'fb182c4c-7031' FROM 'S3'"));
}

// "Assume the following priority queue", elevated twice.
TEST(ShieldDocument, ElevatesTheBackupPastTheLongRunningChores) {
  Scheduler scheduler;
  scheduler.submit(5, 15, kLong);
  scheduler.submit(7, kBackup);
  scheduler.submit(9, kTestStore);
  EXPECT_EQ(scheduler.picture(), (Picture{{5, {"15 long-running chores"}}, {7, {kBackup}}, {9, {kTestStore}}}));

  scheduler.elevate();
  EXPECT_EQ(scheduler.picture(), (Picture{{0, {"15 long-running chores"}}, {5, {kBackup}}, {7, {kTestStore}}}));

  scheduler.elevate();
  EXPECT_EQ(scheduler.picture(), (Picture{{0, {kBackup, "15 long-running chores"}}, {5, {kTestStore}}}));
}

// "Consider the above scenario, except that 4 new long-running chores are submitted between each elevation."
TEST(ShieldDocument, KeepsOlderWorkBeforeAFloodOfNewWork) {
  Scheduler scheduler;
  scheduler.submit(5, 15, kLong);
  scheduler.submit(7, kBackup);
  scheduler.submit(9, kTestStore);

  scheduler.elevate();
  scheduler.submit(5, 4, kNew);
  EXPECT_EQ(scheduler.picture(),
            (Picture{{0, {"15 long-running chores"}}, {5, {kBackup, "4 new long-running chores"}}, {7, {kTestStore}}}));

  scheduler.elevate();
  scheduler.submit(5, 4, kMoreNew);
  EXPECT_EQ(scheduler.picture(), (Picture{{0, {kBackup, "4 new long-running chores", "15 long-running chores"}},
                                          {5, {kTestStore, "4 more new long-running chores"}}}));
}

TEST(ElevatorQueue, ElevatingNothingOrOnlyLevelZeroChangesNothing) {
  Scheduler scheduler;
  scheduler.elevate();
  EXPECT_EQ(scheduler.picture(), Picture{});
  scheduler.submit(0, "a");
  scheduler.submit(0, "b");
  scheduler.elevate();
  EXPECT_EQ(scheduler.picture(), (Picture{{0, {"a", "b"}}}));
}

TEST(ElevatorQueue, ReportsThePositionOfAChore) {
  ElevatorQueue<Chore> queue;
  queue.push(7, {1, "a"});
  queue.push(3, {2, "b"});
  queue.push(7, {3, "c"});
  EXPECT_EQ(queue.position(2), (ChorePosition{.level = 3, .place = 0, .ahead = 0}));
  EXPECT_EQ(queue.position(1), (ChorePosition{.level = 7, .place = 0, .ahead = 1}));
  EXPECT_EQ(queue.position(3), (ChorePosition{.level = 7, .place = 1, .ahead = 2}));
  EXPECT_EQ(queue.position(4), std::nullopt);
}

TEST(ElevatorQueue, RemovesAChoreWhereverItWaits) {
  ElevatorQueue<Chore> queue;
  queue.push(7, {1, "a"});
  queue.push(7, {2, "b"});
  queue.push(7, {3, "c"});
  EXPECT_EQ(queue.remove(2)->name, "b");
  EXPECT_EQ(queue.remove(2).has_value(), false);
  EXPECT_EQ(queue.position(3)->ahead, 1U);
  EXPECT_EQ(queue.size(), 2U);
}

TEST(ElevatorQueue, HoldsChoresThatCanOnlyBeMoved) {
  struct OnlyMoved {
    ChoreId id;
    std::unique_ptr<int> work;
  };
  ElevatorQueue<OnlyMoved> queue;
  queue.push(9, {1, std::make_unique<int>(42)});
  queue.elevate();
  EXPECT_EQ(*queue.pop()->work, 42);
}

TEST(ElevatorQueueDeathTest, RefusesALevelThatDoesNotExist) {
  ElevatorQueue<Chore> queue;
  EXPECT_DEATH(queue.push(-1, {1, "a"}), "no such level");
  EXPECT_DEATH(queue.push(256, {1, "a"}), "no such level");
}

// The same queue written as the document's own words, slowly: an array of 256 lists.
class PlainQueue {
 public:
  void push(int level, ChoreId id) { levels_[static_cast<std::size_t>(level)].push_back(id); }

  std::optional<ChoreId> pop() {
    for (auto& level : levels_) {
      if (level.empty()) continue;
      const ChoreId id = level.front();
      level.erase(level.begin());
      return id;
    }
    return std::nullopt;
  }

  bool remove(ChoreId id) {
    for (auto& level : levels_) {
      if (std::erase(level, id) > 0) return true;
    }
    return false;
  }

  void elevate() {
    const auto saved = levels_[0];
    levels_[0].clear();
    std::size_t free = 0;
    for (std::size_t level = 1; level < levels_.size(); ++level) {
      if (levels_[level].empty()) continue;
      levels_[free].swap(levels_[level]);
      free = level;
    }
    levels_[0].insert(levels_[0].end(), saved.begin(), saved.end());
  }

  std::vector<std::pair<int, ChoreId>> backlog() const {
    std::vector<std::pair<int, ChoreId>> all;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      for (const ChoreId id : levels_[level]) all.emplace_back(static_cast<int>(level), id);
    }
    return all;
  }

 private:
  std::array<std::vector<ChoreId>, 256> levels_;
};

std::vector<std::pair<int, ChoreId>> ids(const ElevatorQueue<Chore>& queue) {
  std::vector<std::pair<int, ChoreId>> all;
  for (const auto& entry : queue.backlog()) all.emplace_back(entry.position.level, entry.chore.id);
  return all;
}

// Loses nothing, invents nothing, and does what the document says, whatever is done to it.
RC_GTEST_PROP(ElevatorQueue, AgreesWithThePlainQueueAfterAnySteps, ()) {
  ElevatorQueue<Chore> queue;
  PlainQueue plain;
  ChoreId next = 1;
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 8));
  for (const int step : steps) {
    if (step <= 3) {
      const int level = *rc::gen::oneOf(rc::gen::inRange(0, 6), rc::gen::inRange(0, 256));
      queue.push(level, {next, "chore"});
      plain.push(level, next++);
    } else if (step <= 5) {
      queue.elevate();
      plain.elevate();
    } else if (step == 6) {
      const auto popped = queue.pop();
      RC_ASSERT((popped ? std::optional(popped->id) : std::nullopt) == plain.pop());
    } else {
      const auto id = *rc::gen::inRange<ChoreId>(1, next + 1);
      RC_ASSERT(queue.remove(id).has_value() == plain.remove(id));
    }
    RC_ASSERT(ids(queue) == plain.backlog());
    RC_ASSERT(queue.size() == plain.backlog().size());
    for (const auto& entry : queue.backlog()) RC_ASSERT(queue.position(entry.chore.id) == entry.position);
  }
}

// Between elevations a level is a plain queue.
RC_GTEST_PROP(ElevatorQueue, ServesALevelInOrderOfSubmission, (const std::vector<std::uint8_t>& levels)) {
  ElevatorQueue<Chore> queue;
  ChoreId next = 1;
  for (const auto level : levels) queue.push(level, {next++, std::to_string(level)});
  std::map<std::string, ChoreId> newest;
  int last_level = 0;
  while (auto chore = queue.pop()) {
    RC_ASSERT(std::stoi(chore->name) >= last_level);
    last_level = std::stoi(chore->name);
    RC_ASSERT(newest[chore->name] < chore->id);
    newest[chore->name] = chore->id;
  }
}

// "Eventually, despite the breakneck proliferation of these chores, the lower-priority work will get scheduled."
RC_GTEST_PROP(ElevatorQueue, ReachesTheTopAfterAsManyElevationsAsThereAreOccupiedLevelsBefore, ()) {
  ElevatorQueue<Chore> queue;
  constexpr ChoreId kPatient = 1'000'000;
  const auto flood_levels = *rc::gen::unique<std::vector<int>>(rc::gen::inRange(0, 200));
  auto flood = [&, next = ChoreId{1}]() mutable {
    for (const int level : flood_levels) queue.push(level, {next++, "flood"});
  };
  flood();
  queue.push(200, {kPatient, "patient"});
  for (std::size_t i = 0; i <= flood_levels.size(); ++i) {
    queue.elevate();
    flood();
  }
  RC_ASSERT(queue.position(kPatient)->level == 0);
}

}  // namespace
}  // namespace horae
