// Two nodes claim under one token: the first has done all but COMMIT when the second begins.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>

#include "base/random.h"
#include "tests/postgres/scene.h"
#include "tests/support/postgres_server.h"

namespace horae::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kPausesOfOnce = 4'000;  // 20 s
constexpr int kTasks = 6;

class OneToken : public ::testing::Test {
 protected:
  using Claimed = Result<std::vector<ClaimOutcome>>;

  OneToken() {
    for (Node& node : nodes_) {
      PostgresStoreOptions options = quick_store_options();
      options.before_commit = [&node] { return node.gate.pass(); };
      node.store = std::move(open_postgres_store(url_, options)).value();
    }
    submit("q");
  }

  void submit(const std::string& queue) {
    std::vector<Submission> batch;
    for (int i = 0; i < kTasks; ++i) {
      batch.push_back({.task = {.queue = queue, .spec = "{}"}, .new_id = ids_.next()});
    }
    (void)nodes_[0].store->tasks().submit(batch).value();
  }

  // All tasks of the queue.
  ClaimWish wish(const std::string& queue = "q") {
    return {.owner = "worker-1", .queues = {queue}, .max = kTasks, .token = ids_.next(), .once = true};
  }

  struct Running {
    std::atomic<bool> has_ended = false;
    std::future<Claimed> claimed;
  };

  void start(Running& running, int node, std::vector<ClaimWish> wishes) {
    running.claimed = std::async(std::launch::async, [this, &running, node, wishes = std::move(wishes)] {
      Claimed claimed = nodes_[node].store->tasks().claim(wishes);
      running.has_ended = true;
      return claimed;
    });
  }

  // The first node has leased for these wishes, and its COMMIT is held.
  void start_and_hold(Running& running, std::vector<ClaimWish> wishes) {
    nodes_[0].gate.arm(1);
    start(running, 0, std::move(wishes));
    nodes_[0].gate.wait_until_held();
  }

  // False if it has ended.
  bool waits(const Running& running) {
    for (int i = 0; i < kPausesOfOnce && !running.has_ended; ++i) {
      const bool is_waiting = database_.value(
                                  "select exists (select from pg_stat_activity where datname = current_database()"
                                  " and wait_event_type = 'Lock')") == "t";
      if (is_waiting) return true;
      database_.pause();
    }
    return false;
  }

  void let_go(bool to_commit) { nodes_[0].gate.let_go(to_commit); }

  static PostgresServer& server() {
    static PostgresServer server{{.durable = false, .settings = {"deadlock_timeout = 50ms"}}};
    return server;
  }

  struct Node {
    Gate gate;
    std::unique_ptr<Store> store;
  };

  const SystemClock clock_;
  SeededRandom random_{1};
  UuidSource ids_{clock_, random_};
  const std::string url_ = server().make_database();
  Node nodes_[2];
  Observer database_{url_};
};

// Claims that are batched with the token do not wait for a node that is stuck with it.
TEST_F(OneToken, ALockedTokenIsNotWaitedForLong) {
  Running stuck;
  const ClaimWish wished = wish();
  start_and_hold(stuck, {wished});
  Running other;
  start(other, 1, {wished});
  const auto claimed = other.claimed.get();
  ASSERT_FALSE(claimed.ok());
  EXPECT_EQ(claimed.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(stuck.has_ended);
  nodes_[0].gate.let_go(true);
  EXPECT_THAT(stuck.claimed.get().value().at(0).tasks, SizeIs(kTasks));
  EXPECT_THAT(nodes_[1].store->tasks().claim(std::vector{wished}).value().at(0).tasks, SizeIs(kTasks));
}

TEST_F(OneToken, TheSecondClaimWaitsForTheFirstAndGetsTheSame) {
  const ClaimWish mine = wish();
  submit("other");
  ClaimWish elsewhere = mine;  // where nothing keeps it but the token
  elsewhere.queues = {"other"};
  Running first, second;
  start_and_hold(first, {mine});
  start(second, 1, {elsewhere});
  EXPECT_TRUE(waits(second));
  let_go(true);
  const Claimed of_first = first.claimed.get();
  const Claimed of_second = second.claimed.get();
  ASSERT_TRUE(of_first.ok() && of_second.ok());
  EXPECT_THAT(of_first->at(0).tasks, SizeIs(kTasks));
  EXPECT_EQ(of_second->at(0).tasks, of_first->at(0).tasks);
  EXPECT_EQ(database_.value("select sum(hi - lo + 1) from running"), std::to_string(kTasks));
}

TEST_F(OneToken, TheSecondClaimGetsTheTasksIfTheFirstRollsBack) {
  const ClaimWish mine = wish();
  Running first, second;
  start_and_hold(first, {mine});
  start(second, 1, {mine});
  EXPECT_TRUE(waits(second));
  let_go(false);
  EXPECT_FALSE(first.claimed.get().ok());
  const Claimed claimed = second.claimed.get();
  ASSERT_TRUE(claimed.ok()) << claimed.error().message;
  EXPECT_THAT(claimed->at(0).tasks, SizeIs(kTasks));
  EXPECT_EQ(database_.value("select count(*) from claim_token"), "1");
}

TEST_F(OneToken, TheSecondClaimMayFindTasksIfTheFirstFoundNone) {
  const ClaimWish mine = wish();
  ClaimWish in_vain = mine;
  in_vain.queues = {"empty"};
  submit("empty");
  (void)nodes_[0].store->tasks().claim(std::vector{wish("empty")}).value();
  Running first, second;
  start_and_hold(first, {in_vain});
  start(second, 1, {mine});
  EXPECT_TRUE(waits(second));
  let_go(true);
  EXPECT_THAT(first.claimed.get()->at(0).tasks, IsEmpty());
  EXPECT_THAT(second.claimed.get()->at(0).tasks, SizeIs(kTasks));
}

TEST_F(OneToken, AnotherTokenDoesNotWait) {
  submit("other");
  Running first, second;
  start_and_hold(first, {wish()});
  start(second, 1, {wish("other")});
  EXPECT_FALSE(waits(second));
  let_go(true);
  EXPECT_THAT(first.claimed.get()->at(0).tasks, SizeIs(kTasks));
  EXPECT_THAT(second.claimed.get()->at(0).tasks, SizeIs(kTasks));
}

TEST_F(OneToken, BatchesThatNameTheSameTokensInAnotherOrderGetTheSame) {
  submit("other");
  const ClaimWish one = wish();
  const ClaimWish two = wish("other");
  Running first, second;
  start_and_hold(first, {one, two});
  start(second, 1, {two, one});
  EXPECT_TRUE(waits(second));
  let_go(true);
  const Claimed of_first = first.claimed.get();
  const Claimed of_second = second.claimed.get();
  ASSERT_TRUE(of_first.ok() && of_second.ok());
  EXPECT_EQ(of_second->at(0).tasks, of_first->at(1).tasks);
  EXPECT_EQ(of_second->at(1).tasks, of_first->at(0).tasks);
  EXPECT_THAT(of_second->at(0).tasks, SizeIs(kTasks));
}

}  // namespace
}  // namespace horae::testing
