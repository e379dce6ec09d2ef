// A transaction that stalls in the middle, because it waits for a lock or because its node is paused, dates nothing in
// the past: times are those of the statement that changes the row, after its locks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time_text.h"
#include "tests/postgres/invariants.h"
#include "tests/support/postgres_server.h"

namespace horae::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kPausesOfAStall = 4'000;  // 20 s
constexpr const char* kStalledQueue = "q";
constexpr const char* kStalledWorker = "worker-1";
constexpr Duration kStalledLease = 1min;

class StalledTransaction : public ::testing::Test {
 protected:
  void submit(const std::vector<NewTask>& tasks) {
    std::vector<Submission> batch;
    for (const NewTask& task : tasks) batch.push_back({.task = task, .new_id = ids_.next()});
    (void)store_->tasks().submit(batch).value();
  }
  static NewTask task() { return {.queue = kStalledQueue, .spec = "{}"}; }

  std::vector<LeasedTask> claim(int max = 1, Duration lease = kStalledLease) {
    const ClaimWish wish{
        .owner = kStalledWorker, .queues = {kStalledQueue}, .max = max, .token = ids_.next(), .lease = lease};
    return store_->tasks().claim(std::vector{wish}).value()[0].tasks;
  }

  SettleOutcome settle(const LeasedTask& lease, Event event) {
    return store_->tasks()
        .settle(std::vector<Settlement>{{.event = event,
                                         .id = lease.id,
                                         .number = lease.number,
                                         .attempt = lease.attempt,
                                         .owner = kStalledWorker}})
        .value()[0];
  }

  // Runs `work` while another session holds what `locks` has locked, and goes on when that session does. Before, when
  // `work` waits for it, `meanwhile` happens.
  template <typename Work>
  auto stalled(
      const std::string& locks, Work work, const std::function<void()>& meanwhile = [] {}) {
    Observer holder(url_);
    (void)holder.ask("begin");
    (void)holder.ask(locks);
    auto done = std::async(std::launch::async, std::move(work));
    EXPECT_TRUE(wait_until_waiting()) << "it does not wait";
    meanwhile();
    moment_ = database_.value("select clock_timestamp()");
    (void)holder.ask("rollback");
    return done.get();
  }

  bool wait_until_waiting() {
    for (int i = 0; i < kPausesOfAStall; ++i) {
      const bool waits = database_.value(
                             "select exists (select from pg_stat_activity where datname = current_database()"
                             " and wait_event_type = 'Lock')") == "t";
      if (waits) return true;
      database_.pause();
    }
    return false;
  }

  // Of all rows of the table.
  void expect_after_stall(const std::string& time, const std::string& table) {
    EXPECT_EQ(database_.value("select min(" + time + ") >= '" + moment_ + "' from " + table), "t")
        << time << " of " << table << ": " << database_.value("select min(" + time + ") from " + table)
        << ", the stall ended at " << moment_;
  }

  PostgresServer server_{{.durable = false, .settings = {"autovacuum = off"}}};
  const std::string url_ = server_.make_database();
  std::unique_ptr<Store> store_ = std::move(open_postgres_store(url_, quick_store_options())).value();
  Observer database_{url_};
  SystemClock clock_;
  SeededRandom random_{1};
  UuidSource ids_{clock_, random_};
  std::string moment_;  // the end of the stall
};

TEST_F(StalledTransaction, AClaimThatWaitedForATaskLeasesItFromThenOn) {
  submit({task()});
  const auto tasks = stalled("select from ready for update", [this] { return claim(); });
  ASSERT_THAT(tasks, SizeIs(1));
  expect_after_stall("started_at", "running");
  expect_after_stall("expires - length / 1000 * interval '1 microsecond'", "running");
  EXPECT_EQ(database_.value("select expires = '" + format_instant(tasks[0].lease_expires) + "' from running"), "t");
}

// As if its node was paused between the look at the queue and the lease.
TEST_F(StalledTransaction, AClaimThatStalledAfterItsLookLeasesFromThenOn) {
  submit({task()});
  const auto tasks = stalled("lock table ready in share mode", [this] { return claim(); });
  ASSERT_THAT(tasks, SizeIs(1));
  expect_after_stall("started_at", "running");
  expect_after_stall("expires - length / 1000 * interval '1 microsecond'", "running");
}

TEST_F(StalledTransaction, AClaimAssignsNothingBeforeItWasDue) {
  submit({task()});
  const auto tasks = stalled(
      "select from ready for update", [this] { return claim(2); },
      [this] {
        NewTask due = task();
        due.run_at = store_->tasks().look()->now;
        submit({due});
      });
  ASSERT_THAT(tasks, SizeIs(2));
  EXPECT_EQ(database_.value("select bool_and(r.started_at >= t.run_at and r.started_at >= t.created_at)"
                            " from running as r join task as t on t.number between r.lo and r.hi"),
            "t");
}

TEST_F(StalledTransaction, AClaimTakesNothingFromAQueueThatWasPausedMeanwhile) {
  submit({task()});
  const auto tasks = stalled(
      "lock table ready in share mode", [this] { return claim(); },
      [this] { (void)store_->queues().configure(kStalledQueue, {.paused = true}).value(); });
  EXPECT_THAT(tasks, IsEmpty());
  EXPECT_EQ(database_.value("select count(*) from ready"), "1");
  (void)store_->queues().configure(kStalledQueue, {.paused = false}).value();
  EXPECT_THAT(claim(), SizeIs(1));
}

TEST_F(StalledTransaction, AClaimTakesNothingWhenTheSchedulerWasStoppedMeanwhile) {
  submit({task()});
  const auto tasks = stalled(
      "lock table ready in share mode", [this] { return claim(); },
      [this] { (void)store_->queues().set_scheduler_running(false).value(); });
  EXPECT_THAT(tasks, IsEmpty());
  EXPECT_EQ(database_.value("select count(*) from ready"), "1");
}

TEST_F(StalledTransaction, AHeartbeatExtendsFromTheEndOfItsWaitOn) {
  submit({task(), task()});
  const auto tasks = claim(2);
  ASSERT_THAT(tasks, SizeIs(2));
  const auto outcome = stalled("select from running for update", [&] { return settle(tasks[0], Event::kHeartbeat); });
  EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
  const std::string extended = "running where lo = " + std::to_string(tasks[0].number);
  expect_after_stall("expires - length / 1000 * interval '1 microsecond'", extended);
  EXPECT_EQ(database_.value("select expires = '" + format_instant(*outcome.lease_expires) + "' from " + extended), "t");
}

// Between the lock on the lease and the write, as if its node was paused there.
TEST_F(StalledTransaction, AHeartbeatThatStalledExtendsFromThenOn) {
  submit({task()});
  const auto tasks = claim();
  const auto outcome =
      stalled("lock table running in share mode", [&] { return settle(tasks.at(0), Event::kHeartbeat); });
  EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
  expect_after_stall("expires - length / 1000 * interval '1 microsecond'", "running");
}

TEST_F(StalledTransaction, ACompletionOfAWholeLeaseEndsAfterItsWait) {
  submit({task()});
  (void)claim();  // the first one of a store looks more than later ones
  submit({task()});
  const auto tasks = claim();
  const std::string number = std::to_string(tasks.at(0).number);
  const auto outcome = stalled("select from running where lo = " + number + " for update",
                               [&] { return settle(tasks[0], Event::kComplete); });
  EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
  expect_after_stall("finished_at", "finished");
}

TEST_F(StalledTransaction, ARetryIsDueItsDelayAfterIt) {
  NewTask retried = task();
  retried.retry = {.kind = RetryPolicy::Kind::kFixed, .delay = 1h};
  submit({retried});
  const auto tasks = claim();
  Settlement abort{.event = Event::kAbort,
                   .id = tasks.at(0).id,
                   .number = tasks[0].number,
                   .attempt = 1,
                   .owner = kStalledWorker,
                   .errors = {{.code = "failed", .description = "once"}}};
  (void)stalled("lock table running in share mode",
                [&] { return store_->tasks().settle(std::vector{abort}).value()[0]; });
  expect_after_stall("due - interval '1 hour'", "scheduled");
  EXPECT_EQ(database_.value("select min(started_at) <= min(at) from trail"), "t");
}

// A monitor that stalled must not take what ended only meanwhile, when no heartbeat could change it.
TEST_F(StalledTransaction, AMonitorExpiresOnlyWhatWasOverdueAtItsStamp) {
  submit({task()});
  ASSERT_THAT(claim(1, 1s), SizeIs(1));
  ASSERT_TRUE(store_->tasks().extend_leases(std::nullopt).value());
  const auto seen = store_->tasks().look()->stamp;
  const std::string end = database_.value("select max(expires) from running");
  const auto outcome = stalled(
      "lock table running in exclusive mode",
      [&] { return store_->tasks().expire_leases({.seen = seen, .slack = 24h}).value(); },
      [&] {
        while (database_.value("select clock_timestamp() > '" + end + "'") != "t") database_.pause();
      });
  const bool was_overdue = database_.value("select stamp > '" + end + "' from control") == "t";
  EXPECT_EQ(outcome.expired.size(), was_overdue ? 1U : 0U);
}

// One reading of the clock decides for tasks with a time: each gets into one table, also at its very moment.
TEST_F(StalledTransaction, TasksThatAreDueAtThisMomentGetIntoOneTable) {
  constexpr int kEach = 200;
  std::vector<NewTask> tasks;
  const Instant now = store_->tasks().look()->now;
  for (int i = 0; i < kEach; ++i) {
    tasks.push_back(task());
    tasks.back().run_at = now + i * 100us;
  }
  submit(tasks);
  EXPECT_EQ(database_.value("select (select coalesce(sum(hi - lo + 1), 0) from ready)"
                            " + (select coalesce(sum(hi - lo + 1), 0) from scheduled)"),
            std::to_string(kEach));
  EXPECT_THAT(broken_invariants(database_), IsEmpty());
}

}  // namespace
}  // namespace horae::testing
