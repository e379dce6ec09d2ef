// The days of the store: partitions that are made ahead and dropped whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time_text.h"
#include "base/uuid.h"
#include "stores/postgres/layout/ranges.h"
#include "stores/postgres/postgres_store.h"
#include "stores/postgres/test_database.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"

namespace horae::postgres {
namespace {

using ::testing::SizeIs;
using std::literals::operator""h;
using std::literals::operator""us;

constexpr Duration kDay = 24h;
const std::vector<std::string> kUnsafe = {"fsync", "full_page_writes", "synchronous_commit"};

// A database whose clock is moved by the test. It begins at midnight.
class PostgresDaysTest : public TestDatabase {
 protected:
  PostgresDaysTest() {
    EXPECT_TRUE(migrate_postgres(url(), false).ok());
    ask("CREATE TABLE test_clock AS SELECT timestamptz '" + format_instant(clock_.wall_now()) +
        "' AS at;"
        "CREATE OR REPLACE FUNCTION horae_now() RETURNS timestamptz LANGUAGE sql STABLE AS"
        " 'SELECT at FROM test_clock'");
    store_ = open();
  }

  std::unique_ptr<Store> open(std::function<bool()> before_commit = {}) {
    return std::move(open_postgres_store(url(), {.allow_unsafe = kUnsafe, .before_commit = std::move(before_commit)}))
        .value();
  }

  Store& store() { return *store_; }
  TaskStore& tasks() { return store_->tasks(); }
  Instant in(Duration delay) const { return clock_.wall_now() + std::chrono::floor<std::chrono::microseconds>(delay); }
  std::int64_t today() const { return day_of(clock_.wall_now()); }

  // The clock of the store, and that of its nodes, which make the ids.
  void advance(Duration by) {
    clock_.advance(by);
    const auto exact = std::chrono::floor<std::chrono::microseconds>(by).count();
    ask("UPDATE test_clock SET at = at + " + std::to_string(exact) + " * interval '1 microsecond'");
  }

  Submission submission(NewTask task = {}) {
    if (task.queue.empty()) task.queue = "work";
    task.spec = "{}";
    return {.task = std::move(task), .new_id = ids_.next()};
  }

  static SubmitOutcome submit(Store& store, const Submission& submission) {
    return store.tasks().submit({&submission, 1}).value().at(0);
  }
  TaskId submit(NewTask task = {}) {
    const SubmitOutcome outcome = submit(store(), submission(std::move(task)));
    EXPECT_EQ(outcome.kind, SubmitOutcome::Kind::kCreated);
    return outcome.id;
  }

  LeasedTask claim() {
    const std::vector<ClaimWish> wishes = {{.owner = "worker-1", .queues = {"work"}, .token = ids_.next()}};
    return tasks().claim(wishes).value().at(0).tasks.at(0);
  }

  static Verdict settle(Store& store, Settlement said) {
    said.owner = "worker-1";
    return store.tasks().settle({&said, 1}).value().at(0).verdict;
  }
  Verdict complete(Store& store, const LeasedTask& task) {
    return settle(store, {.event = Event::kComplete, .id = task.id, .attempt = task.attempt});
  }
  void finish_one() { EXPECT_EQ(complete(store(), claim()), Verdict::kAccepted); }

  std::optional<Task> find(const TaskId& id) { return tasks().get({&id, 1}).value().at(0); }

  std::optional<State> state_of(const TaskId& id) {
    const auto task = find(id);
    return task ? std::optional(task->state) : std::nullopt;
  }

  std::size_t purge() {
    const PurgeOutcome outcome = tasks().purge(kMaxBatch).value();
    EXPECT_FALSE(outcome.more);
    return outcome.purged;
  }

  // How many of its three partitions are there.
  int partitions_of(std::int64_t day) {
    int count = 0;
    for (const std::string table : {"task", "finished", "trail"}) {
      count += ask("SELECT to_regclass('" + table + "_d" + std::to_string(day) + "') IS NOT NULL") == "t" ? 1 : 0;
    }
    return count;
  }

  QueueInfo queue() {
    const QueueList list = store().queues().queues().value();
    EXPECT_THAT(list.queues, SizeIs(1));
    return list.queues.at(0);
  }

  // True once so many wait for a lock in this database.
  bool wait_until_waiting(int count) {
    const std::string sql =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = '" + name() + "'";
    return horae::testing::wait_until([&] { return std::stoi(ask(sql)) >= count; });
  }

  // True while any session has such a lock on a partition: "RowExclusiveLock" to write into it, "AccessExclusiveLock"
  // to drop it.
  bool is_locked(const std::string& table, std::int64_t day, const std::string& mode) {
    return ask("SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE c.relname = '" + table +
               "_d" + std::to_string(day) + "' AND l.granted AND l.mode = '" + mode +
               "' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())") != "0";
  }

  // Leaves a day with one finished task, older than its retention, and none before it, so that it is the next to go.
  // What `late` does comes between. Answers the day.
  template <typename Late>
  std::int64_t make_old_day(Late late) {
    const std::int64_t day = today();
    submit();
    finish_one();
    late();
    advance(kDefaultRetention + kDay);
    EXPECT_EQ(ask("SELECT horae_drop_day(" + std::to_string(day - 1) + ")"), "0");
    return day;
  }

 private:
  ManualClock clock_;
  SeededRandom random_{1};
  UuidSource ids_{clock_, random_};
  std::unique_ptr<Store> store_;
};

TEST_F(PostgresDaysTest, DropsADayOnceAllRetentionIsOver) {
  const std::int64_t first = today();
  const TaskId own = parse_uuid("00000000-0000-4000-8000-000000000001").value();
  std::vector<TaskId> ids = {submit(), submit({.key = "k"}), submit({.id = own})};
  for (int i = 0; i < 3; ++i) finish_one();
  ids.push_back(submit({.recurring = 1h}));  // has a result of its last turn, progress and a checkpoint
  const LeasedTask turn = claim();
  EXPECT_EQ(settle(store(), {.event = Event::kComplete, .id = turn.id, .attempt = 1, .result = "1"}),
            Verdict::kAccepted);
  advance(1h);
  EXPECT_EQ(tasks().promote_due(kMaxBatch).value().promoted, 1U);
  const LeasedTask again = claim();
  EXPECT_EQ(
      settle(store(), {.event = Event::kHeartbeat, .id = again.id, .attempt = 2, .progress = 0.5, .checkpoint = "2"}),
      Verdict::kAccepted);
  ids.push_back(submit({.max_attempts = 1}));
  const LeasedTask bad = claim();
  EXPECT_EQ(settle(store(), {.event = Event::kAbort, .id = bad.id, .attempt = 1, .errors = {{.code = "bad"}}}),
            Verdict::kAccepted);
  const CancelWish cancel{.id = again.id};
  EXPECT_EQ(tasks().cancel({&cancel, 1}).value().at(0).verdict, Verdict::kAccepted);

  advance(kDay);
  const TaskId later = submit();
  finish_one();
  EXPECT_EQ(queue().completed, 4);

  advance(kDefaultRetention - kDay);
  EXPECT_EQ(purge(), 0U);
  EXPECT_EQ(partitions_of(first), 3);
  advance(1us);
  EXPECT_EQ(purge(), 5U);
  EXPECT_EQ(partitions_of(first), 0);
  for (const TaskId& id : ids) EXPECT_FALSE(find(id).has_value());
  EXPECT_TRUE(find(later).has_value());
  EXPECT_FALSE(tasks().find("work", "k").value().has_value());
  const QueueInfo left = queue();
  EXPECT_EQ(left.completed, 1);
  EXPECT_EQ(left.aborted, 0);
  EXPECT_EQ(left.cancelled, 0);
  for (const std::string table : {"task_key", "task_id", "progress", "turn"}) {
    EXPECT_EQ(ask("SELECT count(*) FROM " + table), "0") << table;
  }
  // Other bodies than before.
  EXPECT_TRUE(find(submit({.key = "k", .priority = 7})).has_value());
  EXPECT_EQ(submit({.id = own, .priority = 7}), own);
  EXPECT_EQ(state_of(own), State::kReady);
}

TEST_F(PostgresDaysTest, KeepsADayWithUnfinishedTasks) {
  (void)store().queues().configure("work", {}).value();  // so that it is not forgotten
  const std::int64_t first = today();
  const TaskId scheduled = submit({.run_at = in(60 * kDay)});
  submit();
  finish_one();
  advance(kDay);
  const TaskId running = submit();
  const LeasedTask lease = claim();
  submit();
  finish_one();
  advance(kDay);
  submit();
  finish_one();
  submit();
  finish_one();
  advance(kDay);
  submit();
  finish_one();
  const TaskId ready = submit();

  advance(kDefaultRetention + kDay);
  // Two with their day, and what lives among the others is spared.
  EXPECT_EQ(purge(), 2U + 2U);
  EXPECT_EQ(partitions_of(first), 3);
  EXPECT_EQ(partitions_of(first + 1), 3);
  EXPECT_EQ(partitions_of(first + 2), 0);
  EXPECT_EQ(partitions_of(first + 3), 3);
  EXPECT_EQ(state_of(scheduled), State::kScheduled);
  EXPECT_EQ(state_of(running), State::kRunning);
  EXPECT_EQ(state_of(ready), State::kReady);
  EXPECT_EQ(queue().completed, 1);

  // They live on, and their days go after them.
  EXPECT_EQ(complete(store(), lease), Verdict::kAccepted);
  EXPECT_EQ(claim().id, ready);
  EXPECT_EQ(settle(store(), {.event = Event::kComplete, .id = ready, .attempt = 1}), Verdict::kAccepted);
  advance(60 * kDay);
  EXPECT_EQ(purge(), 3U);
  EXPECT_EQ(tasks().promote_due(kMaxBatch).value().promoted, 1U);
  EXPECT_EQ(claim().id, scheduled);
  EXPECT_EQ(settle(store(), {.event = Event::kComplete, .id = scheduled, .attempt = 1}), Verdict::kAccepted);
  EXPECT_EQ(state_of(scheduled), State::kCompleted);
  advance(kDefaultRetention + 1us);
  EXPECT_EQ(purge(), 1U);
  for (std::int64_t day = first; day <= first + 3; ++day) EXPECT_EQ(partitions_of(day), 0);
  EXPECT_EQ(queue().completed, 0);
}

TEST_F(PostgresDaysTest, PurgesTasksOfAKeptDayOneDayLater) {
  const TaskId live = submit({.run_at = in(60 * kDay)});
  const TaskId done = submit();
  finish_one();
  advance(kDefaultRetention + kDay);
  EXPECT_EQ(purge(), 0U);
  EXPECT_TRUE(find(done).has_value());
  advance(1us);
  EXPECT_EQ(purge(), 1U);
  EXPECT_FALSE(find(done).has_value());
  EXPECT_TRUE(find(live).has_value());
}

TEST_F(PostgresDaysTest, FindsTasksOfEachDay) {
  for (int day = 0; day < 10; ++day) {
    const SubmitOutcome outcome = submit(store(), submission());
    EXPECT_EQ(outcome.kind, SubmitOutcome::Kind::kCreated);
    EXPECT_EQ(outcome.number >> kDayShift, today());
    advance(kDay);
  }
  advance(20 * kDay);
  EXPECT_EQ(submit(store(), submission()).number >> kDayShift, today());
}

TEST_F(PostgresDaysTest, PurgeMakesTheDaysAhead) {
  for (int day = 0; day < 5; ++day) {
    EXPECT_EQ(purge(), 0U);
    for (std::int64_t ahead = 0; ahead <= 2; ++ahead) EXPECT_EQ(partitions_of(today() + ahead), 3) << ahead;
    advance(kDay);
  }
}

TEST_F(PostgresDaysTest, AnIdOfTheClientCostsOneTransaction) {
  int commits = 0;
  const auto counted = open([&] {
    ++commits;
    return true;
  });
  (void)submit(*counted, submission({.id = submission().new_id}));  // makes the queue and takes a block of numbers
  commits = 0;
  (void)submit(*counted, submission({.id = submission().new_id}));
  EXPECT_EQ(commits, 1);
}

TEST_F(PostgresDaysTest, PurgeAddsUpTheCounts) {
  for (int i = 0; i < 5; ++i) {
    (void)submit();
    finish_one();
  }
  EXPECT_EQ(ask("SELECT count(*) FROM tally"), "5");
  purge();
  EXPECT_EQ(ask("SELECT count(*) FROM tally"), "1");
  EXPECT_EQ(ask("SELECT sum(n) FROM tally"), "5");
}

TEST_F(PostgresDaysTest, DropsEmptyDays) {
  const std::int64_t first = today();
  for (int day = 0; day < 10; ++day) {
    advance(kDay);
    EXPECT_EQ(purge(), 0U);
  }
  EXPECT_EQ(partitions_of(first), 0);
  EXPECT_LE(std::stoi(ask("SELECT count(*) FROM day")), 7);
}

// ---- Days that are dropped while transactions work there ----

// The id tells the day that goes, as that of a late repetition does.
TEST_F(PostgresDaysTest, SubmitUsesAnotherDayWhenItsDayIsBeingDropped) {
  Submission late;
  const std::int64_t day = make_old_day([&] { late = submission(); });
  std::thread submitter;
  std::thread reader;
  bool held = false;
  const auto other = open([&] {
    if (held || !is_locked("trail", day, "AccessExclusiveLock")) return true;
    held = true;
    submitter = std::thread([&] { EXPECT_EQ(submit(store(), late).kind, SubmitOutcome::Kind::kCreated); });
    reader = std::thread([&] { EXPECT_TRUE(tasks().get({&late.new_id, 1}).ok()); });
    EXPECT_TRUE(wait_until_waiting(2));
    return true;
  });
  EXPECT_EQ(other->tasks().purge(kMaxBatch).value().purged, 1U);
  ASSERT_TRUE(held);
  submitter.join();
  reader.join();
  EXPECT_EQ(partitions_of(day), 0);
  EXPECT_EQ(state_of(late.new_id), State::kReady);
  EXPECT_EQ(submit(store(), late).kind, SubmitOutcome::Kind::kPresent);
  EXPECT_EQ(claim().id, late.new_id);
}

TEST_F(PostgresDaysTest, KeepsADayThatReceivesATaskMeanwhile) {
  std::int64_t day = 0;
  Submission late;
  std::thread purger;
  const auto other = open([&] {
    if (day == 0 || purger.joinable() || !is_locked("task", day, "RowExclusiveLock")) return true;
    purger = std::thread([&] { EXPECT_EQ(purge(), 0U); });
    EXPECT_TRUE(wait_until_waiting(1));
    return true;
  });
  day = make_old_day([&] { late = submission(); });
  EXPECT_EQ(submit(*other, late).number >> kDayShift, day);
  ASSERT_TRUE(purger.joinable());
  purger.join();
  EXPECT_EQ(partitions_of(day), 3);
  EXPECT_EQ(state_of(late.new_id), State::kReady);
}

// Its result was acknowledged just now, and has all of its retention before it.
TEST_F(PostgresDaysTest, KeepsADayInWhichATaskFinishesMeanwhile) {
  LeasedTask lease;
  const std::int64_t day = make_old_day([&] {
    submit();
    lease = claim();
  });
  std::thread purger;
  const auto other = open([&] {
    if (purger.joinable() || !is_locked("finished", day, "RowExclusiveLock")) return true;
    purger = std::thread([&] { EXPECT_EQ(purge(), 0U); });
    EXPECT_TRUE(wait_until_waiting(1));
    return true;
  });
  EXPECT_EQ(complete(*other, lease), Verdict::kAccepted);
  ASSERT_TRUE(purger.joinable());
  purger.join();
  EXPECT_EQ(state_of(lease.id), State::kCompleted) << "lost an acknowledged result";
}

TEST_F(PostgresDaysTest, TwoNodesDropTheSameDayAtOnce) {
  const std::int64_t day = make_old_day([] {});
  std::thread purger;
  const auto other = open([&] {
    if (purger.joinable() || !is_locked("trail", day, "AccessExclusiveLock")) return true;
    purger = std::thread([&] {
      const auto purged = tasks().purge(kMaxBatch);
      ASSERT_TRUE(purged.ok()) << purged.error().message;
      EXPECT_EQ(purged->purged, 0U);
    });
    EXPECT_TRUE(wait_until_waiting(1));
    return true;
  });
  EXPECT_EQ(other->tasks().purge(kMaxBatch).value().purged, 1U);
  ASSERT_TRUE(purger.joinable());
  purger.join();
  EXPECT_EQ(partitions_of(day), 0);
}

TEST_F(PostgresDaysTest, ManySubmittersAndPurgersLoseNothing) {
  constexpr int kRounds = 5;
  constexpr int kThreads = 3;
  constexpr int kEach = 5;
  for (int round = 0; round < kRounds; ++round) {
    const auto node = open();  // for which this day is open until it learns better
    submit();
    finish_one();
    std::vector<Submission> late;
    for (int i = 0; i < kThreads * kEach; ++i) late.push_back(submission());
    advance(kDefaultRetention + kDay);
    std::barrier all_started(kThreads + 1);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        all_started.arrive_and_wait();
        for (int i = 0; i < kEach; ++i) {
          const Submission& each = late[static_cast<std::size_t>(thread * kEach + i)];
          const auto outcomes = node->tasks().submit({&each, 1});
          ASSERT_TRUE(outcomes.ok()) << outcomes.error().message;
          EXPECT_EQ(outcomes->at(0).kind, SubmitOutcome::Kind::kCreated);
        }
      });
    }
    all_started.arrive_and_wait();
    EXPECT_TRUE(tasks().purge(kMaxBatch).ok());
    for (std::thread& thread : threads) thread.join();
    for (const Submission& each : late) EXPECT_TRUE(find(each.new_id).has_value()) << "lost " << to_string(each.new_id);
    for (const Submission& each : late) {
      const CancelWish wish{.id = each.new_id};
      EXPECT_EQ(tasks().cancel({&wish, 1}).value().at(0).verdict, Verdict::kAccepted);
    }
  }
}

}  // namespace
}  // namespace horae::postgres
