// What the claimer asks of a store that fails: little, and never too much at once.
#include "tests/engine/claimer.h"

namespace horae::testing {
namespace {

using Worker = WaitingWorker;

TEST_P(ClaimerOutage, AStoreThatIsAwayIsAskedOnceInAPassForAnswersThatWereLost) {
  let_wait(5, 1min);
  pass(1s);
  EXPECT_EQ(calls_of_a_pass(), 1);
}

TEST_P(ClaimerOutage, AStoreThatIsAwayIsAskedOnceInAPassForWhatIsLeftOfClaims) {
  let_give_up(3);
  let_wait(2, 1min);
  pass(1s);
  EXPECT_EQ(calls_of_a_pass(), 1);
  mend();
  claimer_.run_once(node_now());
  EXPECT_EQ(faulty().looks, 3) << "for the other two nobody has claimed yet, so nothing of theirs can be lost";
}

TEST_P(ClaimerOutage, AWorkerThatComesMeanwhileIsToldThatTheStoreIsAway) {
  let_give_up(1);
  pass(1s);
  Worker hasty;
  claimer_.wait(wish(1, "worker-2"), node_now(), hasty.deliver());
  EXPECT_EQ(calls_of_a_pass(), 1);
  EXPECT_EQ(hasty.failure, ErrorCode::kUnavailable) << "nobody has looked for its tasks";
}

TEST_P(ClaimerOutage, WhatIsLeftOfManyClaimsIsLookedUpInSeveralPasses) {
  let_give_up(kMaxLooksInAPass + 50);
  mend();
  EXPECT_EQ(claimer_.run_once(node_now()), node_now());
  EXPECT_EQ(faulty().looks, static_cast<int>(kMaxLooksInAPass));
  EXPECT_FALSE(claimer_.is_empty());
  EXPECT_GT(claimer_.run_once(node_now()), node_now());
  EXPECT_EQ(faulty().looks, static_cast<int>(kMaxLooksInAPass) + 50);
  EXPECT_TRUE(claimer_.is_empty());
}

TEST_P(ClaimerOutage, ManyLostAnswersAreLookedUpInSeveralPasses) {
  let_wait(kMaxLooksInAPass + 50, 1min);
  mend();
  EXPECT_EQ(claimer_.run_once(node_now()), node_now());
  EXPECT_EQ(faulty().looks, static_cast<int>(kMaxLooksInAPass));
  EXPECT_GT(claimer_.run_once(node_now()), node_now());
  EXPECT_EQ(faulty().looks, static_cast<int>(kMaxLooksInAPass) + 50);
}

TEST_P(ClaimerOutage, OfTooManyClaimsTheOldestAreLeftToExpire) {
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
