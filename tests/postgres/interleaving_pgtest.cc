// Every two operations meet: the first has done all but COMMIT when the second begins. The second ends, or waits for
// the first; then the first commits or rolls back. In each case the database is consistent and no answer was wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <tuple>

#include "tests/postgres/scene.h"

namespace horae::testing {
namespace {

using ::testing::IsEmpty;

constexpr int kMostPauses = 4'000;  // 20 s

enum class End { kCommit, kRollback };

// Two operations in one scene.
class Meeting : public ::testing::Test {
 protected:
  explicit Meeting(Scene::Side claimer = Scene::kFirst) : scene_(claimer) {}

  // Runs an operation on a thread of its own.
  struct Running {
    std::atomic<bool> has_ended = false;
    std::future<Answered> told;
  };

  void start(Running& running, Operation operation, Scene::Side side) {
    running.told = std::async(std::launch::async, [&running, operation, side, this] {
      Answered told = scene_.run(operation, side);
      running.has_ended = true;
      scene_.gate(side).give_up();
      return told;
    });
  }

  bool is_waiting() {
    return scene_.database().value(
               "select exists (select from pg_stat_activity where datname = current_database()"
               " and wait_event_type = 'Lock')") == "t";
  }

  // False if it neither ends nor waits for a lock.
  bool wait_until_ended_or_waiting(const Running& running) {
    for (int i = 0; i < kMostPauses; ++i) {
      if (running.has_ended || is_waiting()) return true;
      scene_.database().pause();
    }
    return false;
  }

  // One that does not end loses its connection, so that the test does.
  bool wait_until_ended(const Running& running) {
    for (int i = 0; i < kMostPauses; ++i) {
      if (running.has_ended) return true;
      scene_.database().pause();
    }
    (void)scene_.database().value(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()");
    return false;
  }

  // Runs all of the first but COMMIT, and starts the second, which then waits or has ended.
  void meet(Running& first, Operation first_operation, Running& second, Operation second_operation) {
    scene_.gate(Scene::kFirst).arm(Scene::commits_of(first_operation));
    start(first, first_operation, Scene::kFirst);
    scene_.gate(Scene::kFirst).wait_until_held();
    EXPECT_FALSE(first.has_ended) << "it was not held";
    start(second, second_operation, Scene::kSecond);
    EXPECT_TRUE(wait_until_ended_or_waiting(second));
    RecordProperty("waited", second.has_ended ? "no" : "yes");
  }

  void let_go(Running& first, Running& second, End end) {
    scene_.gate(Scene::kFirst).let_go(end == End::kCommit);
    EXPECT_TRUE(wait_until_ended(first));
    EXPECT_TRUE(wait_until_ended(second));
  }

  Scene scene_;
};

class Interleaving : public Meeting, public ::testing::WithParamInterface<std::tuple<Operation, Operation, End>> {
 protected:
  Interleaving() : Meeting(claimer()) {}

  // A node completes a lease as a whole only if it has cached it, and takes the quick way after a claim; so the
  // exchange, which is the first of the two, is one transaction.
  static Scene::Side claimer() {
    const auto [first, second, end] = GetParam();
    if (first == Operation::kExchange) return Scene::kFirst;
    const bool is_quick =
        second == Operation::kCompleteWhole || second == Operation::kClaim || second == Operation::kExchange;
    return is_quick ? Scene::kSecond : Scene::kFirst;
  }
};

TEST_P(Interleaving, AgreesWithSomeOrder) {
  const auto [first_operation, second_operation, end] = GetParam();
  Running first;
  Running second;
  meet(first, first_operation, second, second_operation);
  let_go(first, second, end);

  Answered first_told = first.told.get();
  const Answered second_told = second.told.get();
  EXPECT_EQ(scene_.gate(Scene::kFirst).commits(), Scene::commits_of(first_operation)) << "the last commit was not held";
  EXPECT_FALSE(second_told.error) << second_told.error->message;
  if (end == End::kRollback) {
    EXPECT_TRUE(first_told.error);
    first_told = {};  // it did nothing, and promised nothing
  } else {
    EXPECT_FALSE(first_told.error) << first_told.error->message;
  }
  EXPECT_THAT(broken_invariants(scene_.database()), IsEmpty());
  const auto after = all_stands(scene_.database());
  EXPECT_THAT(contradictions(scene_.before(), first_told, second_told, after), IsEmpty());
  for (const auto& [id, stand] : after) {
    const auto before = scene_.before().find(id);
    if (!second_told.found_nothing || before == scene_.before().end()) continue;
    EXPECT_FALSE(before->second.state == State::kReady && stand.state == State::kReady) << "a claim did not find it";
  }
}

// A transaction that cuts a lease leaves pieces with the old end, which no other one sees before the commit.
class Extension : public Meeting, public ::testing::WithParamInterface<Operation> {};

TEST_P(Extension, LeavesNothingToExpireOfALeaseThatWasCutMeanwhile) {
  Running cut;
  Running extension;
  meet(cut, GetParam(), extension, Operation::kExtendAll);
  let_go(cut, extension, End::kCommit);
  EXPECT_FALSE(cut.told.get().error);
  const Answered told = extension.told.get();
  EXPECT_FALSE(told.error) << told.error->message;
  EXPECT_NE(scene_.database().value("select count(*) from running"), "0") << "there is a rest";
  EXPECT_EQ(scene_.expire_now().size(), 0U);
}

class StuckNode : public Meeting {};

// It gives up, so that the transactions that queue up behind it continue, and leaves the old stamp: nothing expires.
TEST_F(StuckNode, BlocksTheExtensionOfLeasesButNoOtherCall) {
  Running stuck;
  Running extension;
  meet(stuck, Operation::kComplete, extension, Operation::kExtendAll);
  EXPECT_TRUE(wait_until_ended(extension));
  const Answered told = extension.told.get();
  ASSERT_TRUE(told.error);
  EXPECT_EQ(told.error->code, ErrorCode::kUnavailable);
  EXPECT_FALSE(scene_.run(Operation::kClaim, Scene::kSecond).found_nothing);
  scene_.gate(Scene::kFirst).let_go(true);
  EXPECT_FALSE(stuck.told.get().error);
  EXPECT_FALSE(scene_.run(Operation::kExtendAll, Scene::kSecond).error);
  EXPECT_EQ(scene_.expire_now().size(), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, Extension,
                         ::testing::Values(Operation::kComplete, Operation::kHeartbeat, Operation::kRelease,
                                           Operation::kAbort, Operation::kYield, Operation::kCancel),
                         [](const auto& each) { return std::string(name_of(each.param)); });

// What a node believes of a queue that was empty must not hide what others put there.
TEST(TwoNodes, AClaimFindsAtOnceWhatTheOtherNodeHasSubmitted) {
  Scene scene;
  while (!scene.run(Operation::kClaim, Scene::kSecond).found_nothing) {
  }
  ASSERT_FALSE(scene.run(Operation::kSubmit, Scene::kFirst).error);
  EXPECT_FALSE(scene.run(Operation::kClaim, Scene::kSecond).found_nothing);
}

std::string name_of_case(const ::testing::TestParamInfo<Interleaving::ParamType>& info) {
  const auto [first, second, end] = info.param;
  return std::string(name_of(second)) + "While" + std::string(name_of(first)) + "IsOpen_" +
         (end == End::kCommit ? "Commit" : "Rollback");
}

INSTANTIATE_TEST_SUITE_P(All, Interleaving,
                         ::testing::Combine(::testing::ValuesIn(kAllOperations), ::testing::ValuesIn(kAllOperations),
                                            ::testing::Values(End::kCommit, End::kRollback)),
                         name_of_case);

}  // namespace
}  // namespace horae::testing
