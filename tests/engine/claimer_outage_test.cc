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
  EXPECT_EQ(claimer_.run_once(node_now()), node_now());
  EXPECT_EQ(faulty().looks, static_cast<int>(kMaxLookUpsInAPass));
  EXPECT_GT(claimer_.run_once(node_now()), node_now());
  EXPECT_EQ(faulty().looks, static_cast<int>(kMaxLookUpsInAPass) + 50);
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
