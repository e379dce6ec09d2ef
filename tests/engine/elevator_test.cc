// The worked examples of the SHIELD document, by tasks that go from the store through the dispatcher.

#include "tests/engine/node.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::vector<TaskId> joined(std::initializer_list<std::vector<TaskId>> parts) {
  std::vector<TaskId> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST_P(ElevatorLoop, ExhaustsALevelBeforeTheNextAndStopsWhenSlotsRunOut) {
  configure(kQueue, {.ageing_rate = 0});
  TestNode node = this->node({.owner = "node-2", .dispatcher = hoarding(3, 100)});
  const auto purge = submit_many(1, at_level(4));
  const auto backups = submit_many(2, at_level(1));
  const auto tests = submit_many(1, at_level(3));
  node.run_all();
  EXPECT_THAT(node.executor().started, ElementsAre(backups[0], backups[1], tests[0]));
  EXPECT_THAT(node.backlog(), ElementsAre(purge[0]));
}

TEST_P(ElevatorLoop, LiftsTheBackupAboveTheLongRunningChores) {
  fill_the_slot();
  const auto slow = arrive(15, 5);
  const auto backup = arrive(1, 7);
  const auto test_store = arrive(1, 9);
  elevate();
  EXPECT_THAT(level(0), ElementsAreArray(slow));
  EXPECT_THAT(level(5), ElementsAreArray(backup));
  EXPECT_THAT(level(7), ElementsAreArray(test_store));
  elevate();
  EXPECT_THAT(level(0), ElementsAreArray(joined({backup, slow})));
  EXPECT_THAT(level(5), ElementsAreArray(test_store));

  node_.executor().end(node_.executor().started.front());
  node_.settle_down();
  EXPECT_EQ(node_.executor().started.back(), backup.front());
}

TEST_P(ElevatorLoop, StarvesNoChoreInAFloodOfUrgentOnes) {
  fill_the_slot();
  const auto slow = arrive(15, 5);
  const auto backup = arrive(1, 7);
  const auto test_store = arrive(1, 9);
  elevate();
  const auto more = arrive(4, 5);
  EXPECT_THAT(level(0), ElementsAreArray(slow));
  EXPECT_THAT(level(5), ElementsAreArray(joined({backup, more})));
  EXPECT_THAT(level(7), ElementsAreArray(test_store));
  elevate();
  const auto yet_more = arrive(4, 5);
  EXPECT_THAT(level(0), ElementsAreArray(joined({backup, more, slow})));
  EXPECT_THAT(level(5), ElementsAreArray(joined({test_store, yet_more})));
}

}  // namespace
}  // namespace horae::testing
