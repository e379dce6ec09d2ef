// Finished tasks are forgotten after their retention; live ones never.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_P(Purge, NothingToPurge) {
  const PurgeOutcome outcome = purge();
  EXPECT_EQ(outcome.purged, 0U);
  EXPECT_FALSE(outcome.more);
}

TEST_P(Purge, RemovesEveryKindOfFinishedTask) {
  const Lease completed = start();
  (void)complete(completed);
  const Lease aborted = start();
  (void)abort(aborted);
  const TaskId cancelled = submit();
  (void)cancel(cancelled);
  advance(kDefaultRetention + 1us);
  const PurgeOutcome outcome = purge();
  EXPECT_EQ(outcome.purged, 3U);
  EXPECT_FALSE(outcome.more);
  for (const TaskId& id : {completed.id, aborted.id, cancelled}) EXPECT_FALSE(find(id));
  EXPECT_THAT(ids_in({.kind = ListKind::kAll}), IsEmpty());
  EXPECT_EQ(purge().purged, 0U);
}

TEST_P(Purge, ATaskIsKeptUpToTheLastMomentOfItsRetention) {
  const Lease lease = start();
  (void)complete(lease);
  advance(kDefaultRetention);
  EXPECT_EQ(purge().purged, 0U);
  EXPECT_TRUE(find(lease.id));
  advance(1us);
  EXPECT_EQ(purge().purged, 1U);
}

TEST_P(Purge, TheRetentionCountsFromTheEndNotFromTheBeginning) {
  const Lease lease = start();
  advance(kDefaultRetention * 3);
  (void)complete(lease);
  advance(1h);
  EXPECT_EQ(purge().purged, 0U);
  EXPECT_TRUE(find(lease.id));
}

TEST_P(Purge, LeavesLiveTasksAloneHoweverOldTheyAre) {
  const Lease running = start();
  const TaskId ready = submit();
  const TaskId scheduled = submit({.run_at = now() + 24h * 366 * 5});
  const Lease retried = start({.queue = "retried", .retry = {.kind = RetryPolicy::Kind::kFixed, .delay = 1h}});
  (void)abort(retried);
  const Lease recurring = start({.queue = "recurring", .recurring = 1h});
  (void)complete(recurring);
  advance(24h * 366 * 4);
  EXPECT_EQ(purge().purged, 0U);
  EXPECT_EQ(state_of(running.id), State::kRunning);
  EXPECT_EQ(state_of(ready), State::kReady);
  EXPECT_EQ(state_of(scheduled), State::kScheduled);
  EXPECT_EQ(state_of(retried.id), State::kScheduled);
  EXPECT_EQ(state_of(recurring.id), State::kScheduled);
  EXPECT_EQ(complete(running), Verdict::kAccepted);
}

TEST_P(Purge, EachQueueHasItsOwnRetention) {
  configure("short", {.retention = 1h});
  configure("none", {.retention = 0s});
  const Lease plain = start();
  const Lease brief = start({.queue = "short"});
  const Lease none = start({.queue = "none"});
  for (const Lease& lease : {plain, brief, none}) (void)complete(lease);
  EXPECT_EQ(purge().purged, 0U);
  advance(1us);
  EXPECT_EQ(purge().purged, 1U);
  EXPECT_FALSE(find(none.id));
  advance(1h);
  EXPECT_EQ(purge().purged, 1U);
  EXPECT_FALSE(find(brief.id));
  EXPECT_TRUE(find(plain.id));
}

TEST_P(Purge, AChangedRetentionCountsForTasksThatHaveEnded) {
  const Lease lease = start();
  (void)complete(lease);
  advance(2h);
  EXPECT_EQ(purge().purged, 0U);
  configure(kQueue, {.retention = 1h});
  EXPECT_EQ(purge().purged, 1U);
}

TEST_P(Purge, RemovesAtMostTheLimitAndReportsThatThereIsMore) {
  (void)submit_many(5);
  for (const Lease& lease : claim_up_to(5)) (void)complete(lease);
  advance(kDefaultRetention + 1us);
  const PurgeOutcome some = purge(3);
  EXPECT_EQ(some.purged, 3U);
  EXPECT_TRUE(some.more);
  EXPECT_EQ(ids_in({.kind = ListKind::kAll}).size(), 2U);
  const PurgeOutcome rest = purge(2);
  EXPECT_EQ(rest.purged, 2U);
  EXPECT_FALSE(rest.more);
}

TEST_P(Purge, TheIdAndTheKeyAreFreeAgain) {
  const TaskId mine = new_id();
  const Lease lease = start({.id = mine, .key = "k", .spec = "1"});
  (void)complete(lease);
  advance(kDefaultRetention + 1us);
  (void)purge();
  EXPECT_EQ(value_of(tasks().find(kQueue, "k")), std::nullopt);

  EXPECT_EQ(submit({.id = mine, .key = "k", .spec = "2"}), mine);
  const Task task = get(mine);
  EXPECT_EQ(task.spec, "2");
  EXPECT_EQ(task.attempt, 0);
  EXPECT_EQ(task.history, History{});
  EXPECT_EQ(task.result, std::nullopt);
}

TEST_P(Purge, NumbersAreNotUsedAgain) {
  const Lease lease = start();
  (void)complete(lease);
  advance(kDefaultRetention + 1us);
  (void)purge();
  EXPECT_GT(try_submit({}).number, lease.number);
}

TEST_P(Purge, AnOldSettlementDoesNotTouchATaskThatCameAgainUnderTheId) {
  const TaskId mine = new_id();
  const Lease old = start({.id = mine});
  (void)complete(old);
  advance(kDefaultRetention + 1us);
  (void)purge();
  EXPECT_EQ(complete(old), Verdict::kNotFound);
  (void)submit({.id = mine});
  EXPECT_EQ(complete(old), Verdict::kWrongState);
  EXPECT_EQ(state_of(mine), State::kReady);
}

TEST_P(Purge, TheQueueStays) {
  configure(kQueue, {.retention = 0s});
  (void)complete(start());
  advance(1us);
  (void)purge();
  EXPECT_EQ(queue().settings.retention, Duration::zero());
}

TEST_P(Purge, ALateResultDoesNotProlongTheRetention) {
  const Lease late = start({}, "worker-1");
  (void)lose_leases();
  (void)complete(claim("worker-2"));
  advance(kDefaultRetention);
  (void)complete(late);
  advance(1us);
  EXPECT_EQ(purge().purged, 1U);
}

TEST_P(Purge, LeavesTheNeighboursOfTheSameBatch) {
  const auto ids = submit_many(10);
  const auto leases = claim_up_to(10);
  for (std::size_t i = 0; i < leases.size(); i += 2) (void)complete(leases[i]);
  advance(kDefaultRetention + 1us);
  EXPECT_EQ(purge().purged, 5U);
  EXPECT_THAT(ids_in({.kind = ListKind::kAll}), ElementsAre(ids[9], ids[7], ids[5], ids[3], ids[1]));
}

}  // namespace
}  // namespace horae::testing
