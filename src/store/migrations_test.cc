#include "store/migrations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>

namespace horae {

// From the SQL files that src/store/CMakeLists.txt makes for this test.
std::span<const Migration> test_migrations();

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::array kThree = {Migration{1, "tasks", "CREATE a"}, Migration{2, "queues", "CREATE b"},
                               Migration{3, "messages", "CREATE c"}};

// A database that several nodes share.
struct FakeDatabase {
  std::mutex migrating;
  std::mutex mutex;
  int version = 0;                   // guarded by mutex
  std::vector<std::string> applied;  // guarded by mutex; the SQL
};

// One node's connection to it; records the calls.
class FakeTarget final : public MigrationTarget {
 public:
  explicit FakeTarget(FakeDatabase& database) : database_(database) {}

  Result<void> lock() override {
    steps.emplace_back("lock");
    if (before_lock) before_lock();
    if (lock_fault) return *lock_fault;
    database_.migrating.lock();
    return {};
  }

  void unlock() override {
    steps.emplace_back("unlock");
    database_.migrating.unlock();
  }

  Result<int> version() override {
    steps.emplace_back("version");
    const std::lock_guard lock(database_.mutex);
    if (version_fault) return *version_fault;
    return database_.version;
  }

  Result<bool> apply(const Migration& migration) override {
    steps.push_back("apply " + std::to_string(migration.version));
    if (before_apply) before_apply(migration.version);
    if (fault && migration.version == fails_at) return *fault;
    const std::lock_guard lock(database_.mutex);
    if (database_.version >= migration.version) return false;
    database_.applied.emplace_back(migration.sql);
    database_.version = migration.version;
    return true;
  }

  std::vector<std::string> steps;
  std::function<void()> before_lock;
  std::function<void(int version)> before_apply;
  std::optional<Error> lock_fault;
  std::optional<Error> version_fault;
  std::optional<Error> fault;
  int fails_at = 0;

 private:
  FakeDatabase& database_;
};

class Migrate : public testing::Test {
 protected:
  FakeDatabase database_;
  FakeTarget target_{database_};
};

TEST_F(Migrate, AppliesAllToAnEmptyDatabaseInOrderAndUnderTheLock) {
  const auto report = migrate(target_, kThree);

  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->from, 0);
  EXPECT_EQ(report->to, 3);
  EXPECT_THAT(report->steps, ElementsAre(kThree[0], kThree[1], kThree[2]));
  EXPECT_THAT(database_.applied, ElementsAre("CREATE a", "CREATE b", "CREATE c"));
  EXPECT_THAT(target_.steps, ElementsAre("version", "lock", "version", "apply 1", "apply 2", "apply 3", "unlock"));
}

TEST_F(Migrate, AppliesOnlyWhatIsMissing) {
  database_.version = 2;
  const auto report = migrate(target_, kThree);

  EXPECT_EQ(report->from, 2);
  EXPECT_THAT(report->steps, ElementsAre(kThree[2]));
  EXPECT_THAT(database_.applied, ElementsAre("CREATE c"));
}

// Where the lock is that of each step.
TEST_F(Migrate, ReportsNoStepThatAnotherNodeAppliedMeanwhile) {
  target_.before_apply = [this](int version) { database_.version = std::max(database_.version, 2 - version % 2); };
  const auto report = migrate(target_, kThree);
  EXPECT_EQ(report->from, 2);
  EXPECT_THAT(report->steps, ElementsAre(kThree[2]));

  database_.version = 0;
  target_.before_apply = [this](int version) { database_.version = version; };
  const auto late = migrate(target_, kThree);
  EXPECT_EQ(late->from, 3);
  EXPECT_EQ(late->to, 3);
  EXPECT_THAT(late->steps, IsEmpty());
}

TEST_F(Migrate, LeavesADatabaseAloneThatLacksNothing) {
  database_.version = 3;
  const auto report = migrate(target_, kThree);

  EXPECT_EQ(report->from, 3);
  EXPECT_EQ(report->to, 3);
  EXPECT_THAT(report->steps, IsEmpty());
  EXPECT_THAT(target_.steps, ElementsAre("version"));
}

TEST_F(Migrate, ADryRunReportsTheStepsAndChangesNothing) {
  database_.version = 1;
  const auto report = migrate(target_, kThree, true);

  EXPECT_EQ(report->from, 1);
  EXPECT_EQ(report->to, 3);
  EXPECT_THAT(report->steps, ElementsAre(kThree[1], kThree[2]));
  EXPECT_THAT(target_.steps, ElementsAre("version"));
}

TEST_F(Migrate, RefusesADatabaseThatIsNewer) {
  database_.version = 7;
  for (const bool dry_run : {false, true}) {
    const auto report = migrate(target_, kThree, dry_run);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, ErrorCode::kRefused);
    EXPECT_EQ(report.error().message,
              "database is at version 7, this horae 0.1.0 knows versions up to 3: use a newer horae or, if an "
              "unreleased commit made the database, a new database");
  }
  EXPECT_THAT(target_.steps, ElementsAre("version", "version"));
}

TEST_F(Migrate, RefusesAVersionThatCannotBe) {
  database_.version = -1;
  const auto report = migrate(target_, kThree);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kInternal);
  EXPECT_EQ(report.error().message, "database says that it is at version -1: it is damaged, or not one of Horae");
}

TEST_F(Migrate, AppliesNothingTwiceIfAnotherNodeWasFaster) {
  target_.before_lock = [this] { database_.version = 2; };
  const auto report = migrate(target_, kThree);

  EXPECT_EQ(report->from, 2);
  EXPECT_THAT(report->steps, ElementsAre(kThree[2]));
  EXPECT_THAT(database_.applied, ElementsAre("CREATE c"));
}

TEST_F(Migrate, RefusesIfANewerNodeWasFasterAndUnlocks) {
  target_.before_lock = [this] { database_.version = 4; };
  EXPECT_EQ(migrate(target_, kThree).error().code, ErrorCode::kRefused);
  EXPECT_THAT(target_.steps, ElementsAre("version", "lock", "version", "unlock"));
}

TEST_F(Migrate, AFailureStopsAndReportsTheVersion) {
  target_.fails_at = 2;
  target_.fault = Error{ErrorCode::kInternal, "near \"CREAT\": syntax error"};
  const auto report = migrate(target_, kThree);

  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kInternal);
  EXPECT_EQ(report.error().message,
            "migration 0002 queues failed: near \"CREAT\": syntax error (the database is left at version 1)");
  EXPECT_EQ(target_.steps.back(), "unlock");
  EXPECT_THAT(database_.applied, ElementsAre("CREATE a"));

  target_.fault.reset();
  EXPECT_EQ(migrate(target_, kThree)->from, 1);
  EXPECT_THAT(database_.applied, ElementsAre("CREATE a", "CREATE b", "CREATE c"));
}

TEST_F(Migrate, ReportsAnUnknownOutcomeIfTheDatabaseIsLost) {
  target_.fails_at = 1;
  target_.fault = Error{ErrorCode::kUnavailable, "server closed the connection"};
  const auto report = migrate(target_, kThree);

  EXPECT_EQ(report.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(report.error().message,
            "migration 0001 tasks failed: server closed the connection (it is unknown whether it was applied, so run "
            "it again)");
}

TEST_F(Migrate, PassesOnTheErrorOfTheDatabase) {
  target_.lock_fault = Error{ErrorCode::kUnavailable, "locked"};
  EXPECT_EQ(migrate(target_, kThree).error(), *target_.lock_fault);
  EXPECT_THAT(target_.steps, ElementsAre("version", "lock"));

  target_.version_fault = Error{ErrorCode::kUnavailable, "away"};
  EXPECT_EQ(migrate(target_, kThree).error(), *target_.version_fault);
}

TEST_F(Migrate, AppliesEachOnceWhenManyNodesStartAtOnce) {
  constexpr int kNodes = 8;
  std::barrier start(kNodes);
  {
    std::vector<std::jthread> nodes;
    for (int node = 0; node < kNodes; ++node) {
      nodes.emplace_back([this, &start] {
        FakeTarget target(database_);
        start.arrive_and_wait();
        EXPECT_TRUE(migrate(target, kThree).ok());
      });
    }
  }
  EXPECT_THAT(database_.applied, ElementsAre("CREATE a", "CREATE b", "CREATE c"));
}

TEST(MigrateDeathTest, NumbersRunFromOneWithoutGaps) {
  FakeDatabase database;
  FakeTarget target(database);
  const std::array with_gap = {kThree[0], kThree[2]};
  const std::array without_first = {kThree[1]};
  const std::array twice = {kThree[0], kThree[0]};
  EXPECT_DEATH(std::ignore = migrate(target, with_gap), "without gaps");
  EXPECT_DEATH(std::ignore = migrate(target, without_first), "without gaps");
  EXPECT_DEATH(std::ignore = migrate(target, twice), "without gaps");
}

// ---- The SQL files that are built in ----

TEST(EmbeddedMigrations, HaveTheNumbersAndNamesOfTheirFiles) {
  const auto migrations = test_migrations();
  ASSERT_EQ(migrations.size(), 2U);
  EXPECT_EQ(migrations[0].version, 1);
  EXPECT_EQ(migrations[0].name, "awkward_text");
  EXPECT_EQ(migrations[1].version, 2);
  EXPECT_EQ(migrations[1].name, "large");
}

TEST(EmbeddedMigrations, KeepTheirTextByteForByte) {
  EXPECT_EQ(test_migrations()[0].sql,
            "-- Ὧραι; [brackets] \\n and ${braces}, \"quotes\" and a ) at the end (\n"
            "CREATE TABLE a (x TEXT DEFAULT ';');\n\n"
            "SELECT ']';  -- the last line has no end");
}

TEST(EmbeddedMigrations, MayBeLarge) {
  std::string expected;
  for (int line = 0; line < 5'000; ++line) expected += "INSERT INTO a VALUES ('x');\n";
  EXPECT_GT(expected.size(), 100'000U);
  EXPECT_EQ(test_migrations()[1].sql, expected);
}

}  // namespace
}  // namespace horae
