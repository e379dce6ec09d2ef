// A node claims what its slots can start soon, and leaves the rest to other nodes.

#include "tests/engine/node.h"

namespace horae::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_P(SlotLoops, ShowOnlyAsManyTasksRunningAsTheSlotsRun) {
  TestNode node = this->node();
  const auto ids = submit_many(20);
  node.run_all();
  for (std::size_t ended = 0; ended < ids.size(); ++ended) {
    EXPECT_EQ(queue().running, static_cast<std::int64_t>(std::min<std::size_t>(8, 20 - ended)));
    EXPECT_THAT(node.backlog(), IsEmpty());
    if (ended % 8 == 0) pass(6s);
    node.executor().end(ids[ended]);
    node.settle_down();
  }
  EXPECT_THAT(node.executor().started, ::testing::ElementsAreArray(ids));
}

TEST_P(SlotLoops, ShareSixteenLongTasksBetweenTwoNodes) {
  TestNode one = node({.owner = "node-1"});
  TestNode two = node({.owner = "node-2"});
  (void)submit_many(16);
  one.run_all();
  two.run_all();
  EXPECT_THAT(one.executor().running(), SizeIs(8));
  EXPECT_THAT(two.executor().running(), SizeIs(8));
  pass(4s);
  for (TestNode* each : {&one, &two}) run_to_end(*each);
  EXPECT_EQ(queue().completed, 16);
}

TEST_P(SlotLoops, StartTheMostUrgentTaskInTheSlotThatFreesFirst) {
  TestNode node = this->node();
  const auto low = submit_many(16, {.priority = 10});
  node.run_all();
  pass(1s);
  const TaskId urgent = submit({.priority = 255});
  node.settle_down();
  EXPECT_EQ(state_of(urgent), State::kReady);
  pass(3s);
  node.executor().end(low[0]);
  node.settle_down();
  EXPECT_THAT(node.executor().running(), Contains(urgent));
}

TEST_P(SlotLoops, FillAFreeSlotInTheCommitThatSettlesItsTask) {
  TestNode node = this->node({.dispatcher = {.queues = {kQueue}, .slots = 1}});
  const auto ids = submit_many(2);
  node.run_all();
  faulty().fails_as_a_whole = true;  // so that an exchange counts as one call
  const int calls = faulty().calls;
  node.executor().end(ids[0]);
  node.settle_down();
  EXPECT_THAT(node.executor().running(), ElementsAre(ids[1]));
  EXPECT_EQ(faulty().calls - calls, 1);
}

TEST_P(SlotLoops, ClaimAheadOnceRunsAreShort) {
  TestNode node = this->node({.dispatcher = {.queues = {kQueue}, .slots = 2, .ahead = 3}});
  (void)submit_many(100);
  node.run_all();
  EXPECT_THAT(node.backlog(), IsEmpty());
  run_briefly(node, 30);
  EXPECT_THAT(node.backlog(), SizeIs(3));

  pass(210ms);  // these runs are not short
  (void)node.dispatcher().settling().run_once(node_now());
  run_briefly(node, 1);
  EXPECT_THAT(node.backlog(), SizeIs(2));  // one has started, and no other was claimed
}

TEST_P(SlotLoops, GiveBackWhatHasWaitedTooLongAndClaimNothingAheadUntilARunEnds) {
  TestNode node = this->node({.dispatcher = {.queues = {kQueue}, .slots = 2, .ahead = 3}});
  (void)submit_many(100);
  node.run_all();
  run_briefly(node, 30);
  const auto chores = node.backlog();
  ASSERT_THAT(chores, SizeIs(3));

  pass(900ms);
  const MonotonicTime next = node.dispatcher().settling().run_once(node_now());
  EXPECT_LE(next, node_now() + 100ms);
  EXPECT_THAT(node.backlog(), SizeIs(3));
  pass(100ms);
  (void)node.dispatcher().settling().run_once(node_now());
  node.settle_down();
  EXPECT_THAT(node.backlog(), IsEmpty());
  for (const TaskId& id : chores) {
    EXPECT_EQ(state_of(id), State::kReady);
    EXPECT_THAT(history_of(id), IsEmpty());
  }
  pass(5s);
  node.run_all();
  EXPECT_THAT(node.backlog(), IsEmpty());
  for (const TaskId& id : chores) EXPECT_THAT(node.executor().started, Not(Contains(id)));

  node.executor().end(node.executor().running().front());
  node.settle_down();
  EXPECT_THAT(node.executor().started.back(), chores.front());  // it kept its rank
}

TEST_P(SlotLoops, ShowThatTheNodeItselfWaitsForTasks) {
  TestNode node = this->node({.dispatcher = {.queues = {kQueue}, .slots = 1}});
  node.run_all();
  EXPECT_TRUE(node.dispatcher().status().is_waiting);
  (void)submit();
  node.claimer().on_ready({kQueue});
  node.run_all();
  EXPECT_FALSE(node.dispatcher().status().is_waiting);
}

TEST_P(SlotLoops, NeverGiveBackInternalTasks) {
  (void)submit_many(2, {.queue = "internal"});
  TestNode node = this->node();
  const std::vector<ClaimWish> wishes = {wish(2, "node-1", {"internal"})};
  auto claimed = value_of(tasks().claim(wishes));
  for (LeasedTask& task : claimed.front().tasks) node.dispatcher().add_internal(std::move(task));
  pass(5s);
  (void)node.dispatcher().settling().run_once(node_now());
  EXPECT_THAT(node.backlog(), SizeIs(2));
}

TEST_P(SlotLoops, FindTheTasksOfAnExchangeWhoseAnswerWasLost) {
  TestNode node = this->node({.dispatcher = {.queues = {kQueue}, .slots = 1}});
  const auto ids = submit_many(2);
  node.run_all();
  faulty().fault = FaultyTasks::Fault::kAfter;
  faulty().fails_as_a_whole = true;
  node.executor().end(ids[0]);
  node.settle_down();
  EXPECT_THAT(node.executor().running(), IsEmpty());
  EXPECT_FALSE(node.dispatcher().is_empty());
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  node.run_all();
  EXPECT_EQ(state_of(ids[0]), State::kCompleted);
  EXPECT_THAT(node.executor().running(), ElementsAre(ids[1]));
  EXPECT_EQ(get(ids[1]).attempt, 1);
}

TEST_P(SlotLoops, ReleaseTheTasksOfALostExchangeBeforeTheNodeStops) {
  TestNode node = this->node({.dispatcher = {.queues = {kQueue}, .slots = 1}});
  const auto ids = submit_many(2);
  node.run_all();
  faulty().fault = FaultyTasks::Fault::kAfter;
  faulty().fails_as_a_whole = true;
  node.executor().end(ids[0]);
  node.settle_down();
  node.drain();
  node.settle_down();
  EXPECT_FALSE(node.is_drained);
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  node.run_all();
  EXPECT_TRUE(node.is_drained);
  EXPECT_EQ(state_of(ids[1]), State::kReady);
}

}  // namespace
}  // namespace horae::testing
