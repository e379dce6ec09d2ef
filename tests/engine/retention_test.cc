#include "engine/retention.h"

#include "tests/engine/engine.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_P(RetentionLoop, ForgetsWhatIsOldAndTellsHowMuch) {
  std::vector<std::size_t> purged;
  Retention retention(tasks(), log(), [&](std::size_t count) { purged.push_back(count); });
  const Lease lease = start();
  (void)complete(lease);
  const TaskId alive = submit();
  EXPECT_EQ(retention.run_once(node_now()), node_now() + 1min);
  EXPECT_THAT(purged, IsEmpty());  // a pass that did nothing is not worth a word
  pass(kDefaultRetention + 1us);
  retention.run_once(node_now());
  EXPECT_THAT(purged, ElementsAre(1U));
  EXPECT_FALSE(find(lease.id));
  EXPECT_TRUE(find(alive));
}

TEST_P(RetentionLoop, GoesOnWithABreathAndTellsOnce) {
  std::vector<std::size_t> purged;
  Retention retention(tasks(), log(), [&](std::size_t count) { purged.push_back(count); }, {.batch = 2});
  (void)submit_many(5);
  for (const Lease& lease : claim_up_to(5)) (void)complete(lease);
  pass(kDefaultRetention + 1us);
  EXPECT_EQ(retention.run_once(node_now()), node_now() + 100ms);
  EXPECT_EQ(retention.run_once(node_now()), node_now() + 100ms);
  EXPECT_THAT(purged, IsEmpty());
  EXPECT_EQ(retention.run_once(node_now()), node_now() + 1min);
  EXPECT_THAT(purged, ElementsAre(5U));
}

TEST_P(RetentionLoop, AStoreThatIsAwayIsAskedAgain) {
  std::vector<std::size_t> purged;
  Retention retention(faulty(), log(), [&](std::size_t count) { purged.push_back(count); });
  (void)complete(start());
  pass(kDefaultRetention + 1us);
  faulty().fault = FaultyTasks::Fault::kBefore;
  EXPECT_EQ(retention.run_once(node_now()), node_now() + 1min);
  faulty().fault = FaultyTasks::Fault::kNone;
  retention.run_once(node_now());
  EXPECT_THAT(purged, ElementsAre(1U));
}

}  // namespace
}  // namespace horae::testing
