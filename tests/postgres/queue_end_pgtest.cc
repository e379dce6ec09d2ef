// A queue ends at one node while another one uses it: no task is ever in a queue that does not exist, and no node works
// with the number of a queue that has ended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "base/random.h"
#include "tests/postgres/scene.h"
#include "tests/support/postgres_server.h"

namespace horae::testing {
namespace {

using Kind = QueueRemoval::Kind;

constexpr char kName[] = "q";
constexpr int kMostLooks = 4'000;  // 20 s

class QueueEnd : public ::testing::Test {
 protected:
  QueueEnd() {
    for (Node& node : nodes_) {
      PostgresStoreOptions options = quick_store_options();
      options.before_commit = [&node] { return node.gate.pass(); };
      node.store = std::move(open_postgres_store(url_, options)).value();
    }
  }

  TaskStore& tasks(int node) { return nodes_[node].store->tasks(); }
  QueueStore& queues(int node) { return nodes_[node].store->queues(); }

  Submission submission(NewTask task = {}) {
    task.queue = kName;
    task.spec = "{}";
    return {.task = std::move(task), .new_id = ids_.next()};
  }

  SubmitOutcome submit(int node, NewTask task = {}) {
    return tasks(node).submit(std::vector{submission(std::move(task))}).value().at(0);
  }

  ClaimWish wish(int max = 1) { return {.owner = "worker-1", .queues = {kName}, .max = max, .token = ids_.next()}; }

  std::vector<TaskId> claim(int node) {
    std::vector<TaskId> ids;
    const auto claimed = tasks(node).claim(std::vector{wish(10)}).value();
    for (const LeasedTask& task : claimed.at(0).tasks) ids.push_back(task.id);
    return ids;
  }

  // Both nodes know the queue, and it is empty.
  void make_known() {
    for (const int node : {0, 1}) {
      const TaskId id = submit(node).id;
      (void)tasks(node).cancel(std::vector{CancelWish{.id = id, .reason = {}, .scope = {}}}).value();
    }
    (void)claim(0);
    (void)claim(1);
    ASSERT_EQ(queues(0).remove(kName, 10).value(), (QueueRemoval{Kind::kPurging, 2}));
  }

  // The queue ends at node 0 and is made again there, with another number.
  void end_and_make_again() {
    make_known();
    ASSERT_EQ(queues(0).remove(kName, 10).value().kind, Kind::kRemoved);
    (void)queues(0).configure(kName, {}).value();
  }

  // False if nothing begins to wait for a lock.
  bool someone_waits() {
    for (int i = 0; i < kMostLooks; ++i) {
      const std::string waits = database_.value(
          "select exists (select from pg_stat_activity where datname = current_database()"
          " and wait_event_type = 'Lock')");
      if (waits == "t") return true;
      database_.pause();
    }
    return false;
  }

  void expect_no_task_in_nothing() {
    EXPECT_EQ(database_.value("select count(*) from place where queue not in (select no from queue)"), "0");
    EXPECT_THAT(broken_invariants(database_), ::testing::IsEmpty());
  }

  struct Node {
    Gate gate;
    std::unique_ptr<Store> store;
  };

  static PostgresServer& server() {
    static PostgresServer server({.durable = false, .settings = {}});
    return server;
  }

  SystemClock clock_;
  SeededRandom random_{1};
  UuidSource ids_{clock_, random_};
  const std::string url_ = server().make_database();
  Observer database_{url_};
  Node nodes_[2];
};

// ---- At the same moment ----

class QueueEndAgainstSubmit : public QueueEnd, public ::testing::WithParamInterface<bool> {};

// The submission has done all but COMMIT when the removal begins, which must not overlook it.
TEST_P(QueueEndAgainstSubmit, ASubmissionThatIsUnderWayKeepsItsQueue) {
  make_known();
  const bool is_later = GetParam();
  nodes_[0].gate.arm(1);
  auto submitted = std::async(std::launch::async, [&] {
    return submit(0, {.run_at = is_later ? std::optional(clock_.wall_now() + std::chrono::hours(1)) : std::nullopt});
  });
  nodes_[0].gate.wait_until_held();
  auto removed = std::async(std::launch::async, [&] { return queues(1).remove(kName, 10); });
  EXPECT_TRUE(someone_waits());
  nodes_[0].gate.let_go(true);
  EXPECT_EQ(submitted.get().kind, SubmitOutcome::Kind::kCreated);
  const auto removal = removed.get();  // kUnavailable where it gave up first
  EXPECT_TRUE(!removal.ok() || removal->kind == Kind::kPurging);
  EXPECT_EQ(queues(1).remove(kName, 10).value().kind, Kind::kHasTasks);
  expect_no_task_in_nothing();
  EXPECT_EQ(claim(1).size(), is_later ? 0U : 1U);
}

// The removal has done all but COMMIT when the submission begins, which must not end up in the queue that goes.
TEST_P(QueueEndAgainstSubmit, ASubmissionDuringTheRemovalMakesTheQueueAgain) {
  make_known();
  const bool has_key = GetParam();
  nodes_[0].gate.arm(4);  // the first three read its number, and look for tasks and for finished ones
  auto removed = std::async(std::launch::async, [&] { return queues(0).remove(kName, 10); });
  nodes_[0].gate.wait_until_held();
  auto submitted = std::async(
      std::launch::async, [&] { return submit(1, {.key = has_key ? std::optional<std::string>("k") : std::nullopt}); });
  EXPECT_TRUE(someone_waits());
  nodes_[0].gate.let_go(true);
  EXPECT_EQ(removed.get().value().kind, Kind::kRemoved);
  const SubmitOutcome outcome = submitted.get();
  EXPECT_EQ(outcome.kind, SubmitOutcome::Kind::kCreated);
  expect_no_task_in_nothing();
  EXPECT_THAT(claim(0), ::testing::ElementsAre(outcome.id));
}

INSTANTIATE_TEST_SUITE_P(, QueueEndAgainstSubmit, ::testing::Bool());

TEST_F(QueueEnd, AQueueThatIsConfiguredAtTheSameMomentIsNotForgotten) {
  make_known();
  (void)database_.ask("update queue set made_at = now() - interval '2 hours'");
  nodes_[1].gate.arm(1);
  auto configured = std::async(std::launch::async, [&] { return queues(1).configure(kName, {.ageing_rate = 3}); });
  nodes_[1].gate.wait_until_held();
  auto purged = std::async(std::launch::async, [&] { return tasks(0).purge(10); });
  EXPECT_TRUE(someone_waits());
  nodes_[1].gate.let_go(true);
  EXPECT_TRUE(purged.get().ok());
  EXPECT_EQ(configured.get().value().ageing_rate, 3);
  EXPECT_EQ(database_.value("select rate from queue"), "3");
}

// ---- What a node remembers ----

TEST_F(QueueEnd, ANodeThatRemembersTheOldNumberSubmitsToTheNewQueue) {
  end_and_make_again();
  EXPECT_EQ(submit(1).kind, SubmitOutcome::Kind::kCreated);
  EXPECT_EQ(submit(1, {.key = "k"}).kind, SubmitOutcome::Kind::kCreated);
  EXPECT_EQ(submit(1, {.key = "k"}).kind, SubmitOutcome::Kind::kPresent);
  expect_no_task_in_nothing();
  EXPECT_EQ(claim(0).size(), 2U);
}

TEST_F(QueueEnd, ANodeThatRemembersTheOldNumberClaimsFromTheNewQueue) {
  end_and_make_again();
  const TaskId id = submit(0).id;
  EXPECT_THAT(claim(1), ::testing::ElementsAre(id));
}

TEST_F(QueueEnd, ANodeThatRemembersTheOldNumberExchangesWithTheNewQueue) {
  end_and_make_again();
  const Submission both[] = {submission(), submission()};
  const ClaimWish wishes[] = {wish(2)};
  const auto done = tasks(1).exchange({.settlements = {}, .submissions = both, .wishes = wishes}).value();
  EXPECT_EQ(done.submitted.at(1).kind, SubmitOutcome::Kind::kCreated);
  EXPECT_EQ(done.leased.at(0).tasks.size(), 2U);
  expect_no_task_in_nothing();
}

TEST_F(QueueEnd, ANodeThatRemembersTheOldNumberConfiguresAndRemovesTheNewQueue) {
  end_and_make_again();
  EXPECT_EQ(queues(1).configure(kName, {.ageing_rate = 7}).value().ageing_rate, 7);
  EXPECT_EQ(database_.value("select rate from queue"), "7");
  EXPECT_EQ(queues(0).remove(kName, 10).value().kind, Kind::kRemoved);
  EXPECT_EQ(queues(1).remove(kName, 10).value().kind, Kind::kNotFound);
}

// What a snapshot that is held for minutes keeps locked must not hold up the end of a queue, nor submissions behind it.
TEST_F(QueueEnd, WaitsForNoReader) {
  make_known();
  (void)database_.ask("begin; select * from task; select * from queue");
  EXPECT_EQ(queues(0).remove(kName, 10).value().kind, Kind::kRemoved);
  (void)database_.ask("commit");
}

}  // namespace
}  // namespace horae::testing
