#include "engine/lifecycle/promoter.h"

#include "tests/engine/engine.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_P(PromoterLoop, MakesDueTasksReadyAndNoOthers) {
  Promoter promoter(observed(), log());
  const TaskId due = submit({.run_at = now() + 1s});
  const TaskId later = submit({.run_at = now() + 1s + 1us});
  promoter.run_once(node_now());
  EXPECT_EQ(state_of(due), State::kScheduled);
  pass(1s);
  promoter.run_once(node_now());
  EXPECT_EQ(state_of(due), State::kReady);
  EXPECT_EQ(state_of(later), State::kScheduled);
  EXPECT_THAT(ready(), ElementsAre(kQueue));
}

TEST_P(PromoterLoop, RunsAgainWhenTheNextTaskIsDue) {
  Promoter promoter(observed(), log());
  EXPECT_EQ(promoter.run_once(node_now()), node_now() + 1s);  // another node may schedule something
  (void)submit({.run_at = now() + 300ms});
  EXPECT_EQ(promoter.run_once(node_now()), node_now() + 300ms);
}

TEST_P(PromoterLoop, RunsAgainAtOnceWhileMoreIsDue) {
  Promoter promoter(observed(), log(), {.batch = 2});
  (void)submit_many(3, {.run_at = now() + 1s});
  pass(2s);
  EXPECT_EQ(promoter.run_once(node_now()), node_now());
  EXPECT_EQ(queue().ready, 2);
  promoter.run_once(node_now());
  EXPECT_EQ(queue().ready, 3);
}

TEST_P(PromoterLoop, MakesATaskReadyOnceOnTwoNodes) {
  Promoter one(observed(), log(), {.batch = 3});
  Promoter other(observed(), log(), {.batch = 3});
  (void)submit_many(5, {.run_at = now() + 1s});
  pass(1s);
  together(2, [&](int node) { (node == 0 ? one : other).run_once(node_now()); });
  one.run_once(node_now());
  EXPECT_EQ(claim_up_to(10).size(), 5U);
}

TEST_P(PromoterLoop, RetriesWhenTheStoreIsAway) {
  Promoter promoter(observed(), log());
  const TaskId id = submit({.run_at = now() + 1s});
  pass(1s);
  faulty().fault = FaultyTasks::Fault::kBefore;
  EXPECT_EQ(promoter.run_once(node_now()), node_now() + 1s);
  EXPECT_THAT(said(), HasSubstr("cannot promote due tasks"));
  faulty().fault = FaultyTasks::Fault::kAfter;
  promoter.run_once(node_now());
  EXPECT_THAT(ready(), IsEmpty());
  faulty().fault = FaultyTasks::Fault::kNone;
  promoter.run_once(node_now());
  EXPECT_EQ(state_of(id), State::kReady);
}

}  // namespace
}  // namespace horae::testing
