// Scheduled tasks come due.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_P(Promote, NothingScheduledIsNothingToDo) {
  (void)submit();
  const PromoteOutcome outcome = promote();
  EXPECT_EQ(outcome.promoted, 0U);
  EXPECT_THAT(outcome.queues, IsEmpty());
  EXPECT_EQ(outcome.next_in, std::nullopt);
}

TEST_P(Promote, ATaskIsDueFromItsInstantOn) {
  const TaskId id = submit({.run_at = now() + 10s});
  advance(10s - 1us);
  EXPECT_EQ(promote().promoted, 0U);
  EXPECT_EQ(promote().next_in, Duration(1us));
  EXPECT_EQ(state_of(id), State::kScheduled);
  advance(1us);
  EXPECT_EQ(promote().promoted, 1U);
  EXPECT_EQ(state_of(id), State::kReady);
}

TEST_P(Promote, IsNotedInTheTask) {
  const Instant run_at = now() + 10s;
  const TaskId id = submit({.run_at = run_at});
  advance(15s);
  (void)promote();
  EXPECT_EQ(get(id).updated_at, now());
  EXPECT_EQ(get(id).run_at, run_at);
  EXPECT_EQ(get(id).history, History{});
}

TEST_P(Promote, HappensOnce) {
  (void)submit({.run_at = now() + 1s});
  advance(1s);
  EXPECT_EQ(promote().promoted, 1U);
  EXPECT_EQ(promote().promoted, 0U);
  EXPECT_EQ(claim_up_to(10).size(), 1U);
}

TEST_P(Promote, ADueTaskIsNotClaimedBeforeItIsPromoted) {
  (void)submit({.run_at = now() + 1s});
  advance(1h);
  EXPECT_THAT(claim_up_to(10), IsEmpty());
}

TEST_P(Promote, TakesTheEarliestFirst) {
  const TaskId third = submit({.run_at = now() + 3s});
  const TaskId first = submit({.run_at = now() + 1s});
  const TaskId second = submit({.run_at = now() + 2s});
  advance(1min);
  EXPECT_EQ(promote(1).promoted, 1U);
  EXPECT_EQ(state_of(first), State::kReady);
  EXPECT_EQ(state_of(second), State::kScheduled);
  EXPECT_EQ(promote(1).promoted, 1U);
  EXPECT_EQ(state_of(second), State::kReady);
  EXPECT_EQ(state_of(third), State::kScheduled);
}

TEST_P(Promote, ReportsThatMoreAreDue) {
  for (int i = 1; i <= 5; ++i) (void)submit({.run_at = now() + std::chrono::seconds(i)});
  advance(1min);
  const PromoteOutcome some = promote(3);
  EXPECT_EQ(some.promoted, 3U);
  EXPECT_EQ(some.next_in, Duration::zero());
  const PromoteOutcome rest = promote(3);
  EXPECT_EQ(rest.promoted, 2U);
  EXPECT_EQ(rest.next_in, std::nullopt);
}

TEST_P(Promote, ReportsWhenTheNextIsDue) {
  (void)submit({.run_at = now() + 5s});
  (void)submit({.queue = "other", .run_at = now() + 3s});
  EXPECT_EQ(promote().next_in, Duration(3s));
  advance(3s);
  EXPECT_EQ(promote().next_in, Duration(2s));
}

TEST_P(Promote, NamesTheQueuesThatGotTasks) {
  for (const char* queue : {"a", "b", "a"}) (void)submit({.queue = queue, .run_at = now() + 1s});
  (void)submit({.queue = "later", .run_at = now() + 1h});
  advance(1s);
  EXPECT_THAT(promote().queues, UnorderedElementsAre("a", "b"));
}

TEST_P(Promote, TheRankIsGivenAtPromotion) {
  const TaskId due_long_ago = submit({.priority = 50, .run_at = now() + 1s});
  advance(100s);
  const TaskId before = submit({.priority = 50});
  advance(10s);
  (void)promote();
  const TaskId rival = submit({.priority = 51});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(before, rival, due_long_ago));
}

TEST_P(Promote, TheRankFollowsTheAgeingOfItsQueue) {
  const TaskId promoted = submit({.priority = 50, .run_at = now() + 1s});
  configure(kQueue, {.ageing_rate = 100});
  advance(5s);
  (void)promote();
  advance(1s);  // 100 points
  const TaskId above = submit({.priority = 151});
  const TaskId below = submit({.priority = 149});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(above, promoted, below));
}

TEST_P(Promote, TasksPromotedInOneSecondAreClaimedByPriorityThenNumber) {
  const TaskId late = submit({.run_at = now() + 2s});
  const TaskId early = submit({.run_at = now() + 1s});
  const TaskId urgent = submit({.priority = 60, .run_at = now() + 2s});
  advance(2s);
  (void)promote();
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(urgent, late, early));
}

TEST_P(Promote, GoesOnWhileTheQueueIsPausedAndTheSchedulerStopped) {
  const TaskId id = submit({.run_at = now() + 1s});
  configure(kQueue, {.paused = true});
  (void)value_of(queues().set_scheduler_running(false));
  advance(1s);
  EXPECT_EQ(promote().promoted, 1U);
  EXPECT_EQ(state_of(id), State::kReady);
}

}  // namespace
}  // namespace horae::testing
