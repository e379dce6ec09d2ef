// What holds claims back: a paused queue, the stopped scheduler.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

TEST_P(Hold, APausedQueueGivesNothing) {
  const TaskId id = submit();
  configure(kQueue, {.paused = true});
  EXPECT_THAT(claim_up_to(10), IsEmpty());
  configure(kQueue, {.paused = false});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(id));
}

TEST_P(Hold, OtherQueuesOfTheSameClaimGoOn) {
  (void)submit({.queue = "paused", .priority = 255});
  const TaskId other = submit({.queue = "open"});
  configure("paused", {.paused = true});
  EXPECT_THAT(ids_of(claim_up_to(10, kOwner, {"paused", "open"})), ElementsAre(other));
}

TEST_P(Hold, APausedQueueTakesTasksAndSettlements) {
  const Lease lease = start();
  configure(kQueue, {.paused = true});
  EXPECT_EQ(state_of(submit()), State::kReady);
  EXPECT_EQ(heartbeat(lease), Verdict::kAccepted);
  EXPECT_EQ(complete(lease), Verdict::kAccepted);
}

TEST_P(Hold, LeasesOfAPausedQueueExpire) {
  const Lease lease = start();
  configure(kQueue, {.paused = true});
  EXPECT_EQ(lose_leases().size(), 1U);
  EXPECT_EQ(state_of(lease.id), State::kReady);
  EXPECT_THAT(claim_up_to(10), IsEmpty());
}

TEST_P(Hold, AQueueMayBePausedBeforeItHasTasks) {
  configure("new", {.paused = true});
  (void)submit({.queue = "new"});
  EXPECT_TRUE(queue("new").settings.paused);
  EXPECT_THAT(claim_up_to(10, kOwner, {"new"}), IsEmpty());
}

TEST_P(Hold, TasksAgeWhileTheirQueueIsPaused) {
  const TaskId old = submit({.priority = 50});
  configure(kQueue, {.paused = true});
  advance(10s);
  configure(kQueue, {.paused = false});
  const TaskId young = submit({.priority = 59});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(old, young));
}

TEST_P(Hold, AFreshStoreRuns) { EXPECT_TRUE(value_of(queues().scheduler_running())); }

TEST_P(Hold, TheStoppedSchedulerGivesNothingFromAnyQueue) {
  const TaskId a = submit({.queue = "a"});
  const TaskId b = submit({.queue = "b"});
  EXPECT_TRUE(value_of(queues().set_scheduler_running(false)));
  EXPECT_FALSE(value_of(queues().scheduler_running()));
  EXPECT_THAT(claim_up_to(10, kOwner, {"a", "b"}), IsEmpty());
  EXPECT_TRUE(value_of(queues().set_scheduler_running(true)));
  EXPECT_THAT(ids_of(claim_up_to(10, kOwner, {"a", "b"})), ElementsAre(a, b));
}

TEST_P(Hold, ReportsWhichQueuesAreClosed) {
  const std::vector<std::string> all = {"b", "unknown", "a"};
  configure("a", {.paused = true});
  configure("b", {.ageing_rate = 3});
  EXPECT_THAT(value_of(queues().closed(all)), ElementsAre("a"));
  (void)value_of(queues().set_scheduler_running(false));
  EXPECT_THAT(value_of(queues().closed(all)), ElementsAreArray(all));
  (void)value_of(queues().set_scheduler_running(true));
  configure("a", {.paused = false});
  EXPECT_THAT(value_of(queues().closed(all)), IsEmpty());
  EXPECT_THAT(value_of(queues().closed({})), IsEmpty());
}

TEST_P(Hold, SayingItTwiceIsNoChange) {
  EXPECT_FALSE(value_of(queues().set_scheduler_running(true)));
  EXPECT_TRUE(value_of(queues().set_scheduler_running(false)));
  EXPECT_FALSE(value_of(queues().set_scheduler_running(false)));
  EXPECT_FALSE(value_of(queues().scheduler_running()));
}

TEST_P(Hold, AStoppedSchedulerLeavesEverythingElseRunning) {
  const Lease lease = start();
  (void)value_of(queues().set_scheduler_running(false));
  EXPECT_EQ(heartbeat(lease), Verdict::kAccepted);
  EXPECT_EQ(yield(lease), Verdict::kAccepted);
  const TaskId other = submit();
  EXPECT_EQ(cancel(other), Verdict::kAccepted);
  EXPECT_EQ(state_of(lease.id), State::kReady);
}

}  // namespace
}  // namespace horae::testing
