// The claimer calls a failing store rarely, and bounds what it sends after an outage.
#include "tests/engine/claimer.h"

namespace horae::testing {
namespace {

using Worker = WaitingWorker;

TEST_P(ClaimerOutage, LooksUpOneLostAnswerPerPassWhileTheStoreIsAway) {
  let_wait(5, 1min);
  pass(1s);
  EXPECT_EQ(calls_of_a_pass(), 1);
}

TEST_P(ClaimerOutage, LooksUpOneLeftoverPerPassWhileTheStoreIsAway) {
  let_give_up(3);
  let_wait(2, 1min);
  pass(1s);
  EXPECT_EQ(calls_of_a_pass(), 1);
  mend();
  claimer_.run_once(node_now());
  EXPECT_EQ(faulty().looks, 3) << "the wishes of the other two were not claimed yet, so nothing of theirs can be lost";
}

TEST_P(ClaimerOutage, AnswersANewWorkerThatTheStoreIsAway) {
  let_give_up(1);
  pass(1s);
  Worker hasty;
  claimer_.wait(wish(1, "worker-2"), node_now(), hasty.deliver());
  EXPECT_EQ(calls_of_a_pass(), 1);
  EXPECT_EQ(hasty.failure, ErrorCode::kUnavailable) << "its tasks were not looked up";
}

TEST_P(ClaimerOutage, LooksUpManyLeftoversInSeveralPasses) {
  let_give_up(kMaxLookUpsInAPass + 50);
  mend();
  EXPECT_EQ(claimer_.run_once(node_now()), node_now());
  EXPECT_EQ(faulty().looks, static_cast<int>(kMaxLookUpsInAPass));
  EXPECT_FALSE(claimer_.is_empty());
  EXPECT_GT(claimer_.run_once(node_now()), node_now());
  EXPECT_EQ(faulty().looks, static_cast<int>(kMaxLookUpsInAPass) + 50);
  EXPECT_TRUE(claimer_.is_empty());
}

TEST_P(ClaimerOutage, LooksUpManyLostAnswersInSeveralPasses) {
  let_wait(kMaxLookUpsInAPass + 50, 1min);
  mend();
  EXPECT_EQ(claimer_.run_pass(node_now()), node_now());
  EXPECT_EQ(faulty().looks, static_cast<int>(kMaxLookUpsInAPass));
  EXPECT_GT(claimer_.run_once(node_now()), node_now());
  EXPECT_EQ(faulty().looks, static_cast<int>(kMaxLookUpsInAPass) + 50);
}

// With the usual retry after a second, its lease would have ended before the worker got it.
TEST_P(ClaimerOutage, LooksUpALostAnswerWithinAQuarterOfItsLease) {
  (void)submit();
  ClaimWish brief = wish();
  brief.lease = 1s;
  Worker worker;
  claimer_.wait(brief, node_now() + 1min, worker.deliver());
  faulty().fault = FaultyTasks::Fault::kAfter;
  const MonotonicTime next = claimer_.run_once(node_now());
  EXPECT_EQ(next, node_now() + 250ms);
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(next - node_now());
  claimer_.run_once(node_now());
  ASSERT_EQ(worker.tasks.size(), 1U);
  EXPECT_EQ(worker.tasks[0].lease_expires, now() + 750ms);
}

TEST_P(ClaimerOutage, LeavesTheOldestOfTooManyClaimsToExpire) {
  let_give_up(kMaxUncertainClaims + 10);
  EXPECT_NE(said().find("the oldest will expire"), std::string::npos);
  mend();
  while (claimer_.run_once(node_now()) <= node_now()) {
  }
  EXPECT_EQ(faulty().looks, static_cast<int>(kMaxUncertainClaims));
  EXPECT_TRUE(claimer_.is_empty());
}

}  // namespace
}  // namespace horae::testing
