#include "engine/slots/dispatcher.h"

#include "engine/lifecycle/monitor.h"
#include "observe/metrics.h"
#include "tests/engine/node.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

TEST_P(DispatcherLoops, RunsATaskInASlotAndCompletesIt) {
  TestNode node = this->node();
  const TaskId id = submit({.spec = R"({"what":1})"});
  node.run_all();
  EXPECT_THAT(node.executor().started, ElementsAre(id));
  EXPECT_EQ(get(id).owner, "node-1");
  EXPECT_EQ(node.busy_slots(), 1U);

  node.executor().end(id, run_done(R"({"answer":42})"));
  node.settle_down();
  EXPECT_EQ(state_of(id), State::kCompleted);
  EXPECT_EQ(get(id).result, R"({"answer":42})");
  EXPECT_EQ(node.busy_slots(), 0U);
}

TEST_P(DispatcherLoops, AbortsTheTaskOfAFailedRun) {
  TestNode node = this->node();
  const TaskId id = submit();
  node.run_all();
  node.executor().end(id, run_failed("no_luck", "it rained"));
  node.settle_down();
  EXPECT_EQ(state_of(id), State::kAborted);
  EXPECT_EQ(get(id).errors.at(0).code, "no_luck");
}

TEST_P(DispatcherLoops, AbortsOnlyTheTaskWhoseResultIsInvalid) {
  TestNode node = this->node();
  const TaskId bad = submit();
  const TaskId good = submit();
  node.run_all();
  node.executor().end(bad, run_done(std::string(kMaxResultBytes + 1, '1')));
  node.executor().end(good, run_done("1"));
  node.settle_down();
  EXPECT_EQ(state_of(good), State::kCompleted);
  EXPECT_EQ(state_of(bad), State::kAborted);
  EXPECT_EQ(get(bad).errors.at(0).code, "bad_result");
}

TEST_P(DispatcherLoops, RunsAsManyTasksAsSlotsAndKeepsFewWaiting) {
  TestNode node = this->node({.dispatcher = hoarding(2, 3)});
  const auto ids = submit_many(10);
  node.run_all();
  EXPECT_THAT(node.executor().started, ElementsAre(ids[0], ids[1]));
  EXPECT_THAT(node.backlog(), ElementsAre(ids[2], ids[3], ids[4]));
  EXPECT_EQ(state_of(ids[5]), State::kReady);  // another node may take it

  node.executor().end(ids[1]);
  node.settle_down();
  EXPECT_THAT(node.executor().started, ElementsAre(ids[0], ids[1], ids[2]));
  EXPECT_THAT(node.backlog(), ElementsAre(ids[3], ids[4], ids[5]));
  EXPECT_EQ(node.busy_slots(), 2U);
}

TEST_P(DispatcherLoops, ClaimsNothingWithoutSlots) {
  TestNode node = this->node({.dispatcher = {.queues = {kQueue}, .slots = 0}});
  const TaskId id = submit();
  node.run_all();
  EXPECT_EQ(state_of(id), State::kReady);
  EXPECT_TRUE(node.dispatcher().is_empty());
}

TEST_P(DispatcherLoops, RunsAllTasksOfAQueue) {
  TestNode node = this->node();
  const auto ids = submit_many(100);
  node.run_all();
  while (!node.executor().running().empty()) {
    node.executor().end(node.executor().running().front());
    node.settle_down();
  }
  EXPECT_THAT(node.executor().started, UnorderedElementsAreArray(ids));
  EXPECT_EQ(queue().completed, 100);
}

TEST_P(DispatcherLoops, SendsHeartbeatsForWaitingAndRunningTasks) {
  horae::Monitor monitor(tasks(), log());
  TestNode node = this->node({.dispatcher = hoarding(1)});
  const TaskId runs = submit();
  const TaskId waits = submit();
  node.run_all();
  node.executor().reached = {.progress = 0.25, .checkpoint = R"("here")"};
  for (int i = 0; i < 20; ++i) {
    live(kDefaultLease / 3, {&node});
    monitor.run_once(node_now());
  }
  EXPECT_EQ(get(runs).attempt, 1);
  EXPECT_EQ(get(runs).progress, 0.25);
  EXPECT_EQ(get(runs).checkpoint, R"("here")");
  EXPECT_EQ(state_of(waits), State::kRunning);  // in the store; its history has no second assignment
  EXPECT_THAT(history_of(waits), SizeIs(1));
}

TEST_P(DispatcherLoops, SendsHeartbeatsDespiteAnInvalidCheckpoint) {
  horae::Monitor monitor(tasks(), log());
  TestNode node = this->node();
  const TaskId id = submit();
  node.run_all();
  node.executor().reached = {.progress = 0.25, .checkpoint = std::string(kMaxCheckpointBytes + 1, '1')};
  for (int i = 0; i < 6; ++i) {
    live(kDefaultLease / 3, {&node});
    monitor.run_once(node_now());
  }
  EXPECT_EQ(get(id).attempt, 1);
  EXPECT_EQ(state_of(id), State::kRunning);
}

TEST_P(DispatcherLoops, ReleasesChoresOfAPausedQueueAndKeepsRuns) {
  DispatcherOptions options = hoarding(1);
  options.queues = {kQueue, "other"};
  TestNode node = this->node({.dispatcher = options});
  const TaskId runs = submit();
  const TaskId waits = submit();
  const TaskId other = submit({.queue = "other"});
  node.run_all();
  configure(kQueue, {.paused = true});
  pass(1s);
  node.run_all();
  EXPECT_EQ(state_of(waits), State::kReady);
  EXPECT_THAT(history_of(waits), IsEmpty());  // as if it had never been claimed
  EXPECT_THAT(node.backlog(), ElementsAre(other));
  EXPECT_THAT(node.executor().running(), ElementsAre(runs));
}

TEST_P(DispatcherLoops, ReleasesChoresAtOnceWhenTheSchedulerStops) {
  TestNode node = this->node({.dispatcher = hoarding(1)});
  (void)submit();
  const TaskId waits = submit();
  node.run_all();
  (void)value_of(queues().set_scheduler_running(false));
  node.dispatcher().on_closed();
  node.settle_down();
  EXPECT_EQ(state_of(waits), State::kReady);

  (void)value_of(queues().set_scheduler_running(true));
  node.claimer().on_ready_anywhere();
  node.settle_down();
  EXPECT_THAT(node.backlog(), ElementsAre(waits));
}

TEST_P(DispatcherLoops, StopsACancelledRunAndNeverStartsACancelledChore) {
  TestNode node = this->node({.dispatcher = hoarding(1)});
  const TaskId runs = submit();
  const TaskId waits = submit();
  node.run_all();
  (void)cancel(runs);
  (void)cancel(waits);
  node.run_all();
  EXPECT_THAT(node.executor().stopped, ElementsAre(runs));
  EXPECT_THAT(node.executor().started, ElementsAre(runs));
  EXPECT_EQ(state_of(runs), State::kCancelled);
  EXPECT_EQ(node.busy_slots(), 0U);
  EXPECT_THAT(history_of(runs), SizeIs(1));  // no late yield
}

TEST_P(DispatcherLoops, StopsARunWhoseLeaseIsLostWithoutSettling) {
  TestNode node = this->node();
  const TaskId id = submit();
  node.run_all();
  (void)lose_leases();
  const Lease other = claim("worker-9");
  node.run_all();
  EXPECT_THAT(node.executor().stopped, ElementsAre(id));
  EXPECT_EQ(get(id).owner, "worker-9");
  EXPECT_EQ(complete(other), Verdict::kAccepted);
}

TEST_P(DispatcherLoops, StartsNoChoreOfALostLeaseAfterASuspension) {
  TestNode node = this->node({.dispatcher = hoarding(1)});
  const TaskId first = submit();
  const TaskId second = submit();
  node.run_all();
  stand_still();
  (void)lose_leases();
  ASSERT_THAT(claim_up_to(2, "worker-9"), SizeIs(2));
  node.executor().end(first);
  node.run_all();
  EXPECT_THAT(node.executor().started, ElementsAre(first));
  EXPECT_THAT(node.backlog(), IsEmpty());
  EXPECT_EQ(get(second).owner, "worker-9");
}

TEST_P(DispatcherLoops, StartsChoresThatItStillHoldsAfterASuspension) {
  TestNode node = this->node({.dispatcher = hoarding(1)});
  const TaskId first = submit();
  const TaskId second = submit();
  node.run_all();
  stand_still();
  node.executor().end(first);
  node.dispatcher().dispatching().run_once(node_now());
  EXPECT_THAT(node.executor().started, ElementsAre(first));  // in doubt, it waits for a heartbeat
  node.settle_down();
  node.run_all();
  EXPECT_THAT(node.executor().started, ElementsAre(first, second));
}

TEST_P(DispatcherLoops, KeepsTheEndOfARunUntilTheStoreAcceptsIt) {
  for (const auto fault : {FaultyTasks::Fault::kBefore, FaultyTasks::Fault::kAfter}) {
    TestNode node = this->node();
    const TaskId id = submit();
    node.run_all();
    faulty().fault = fault;
    node.executor().end(id, run_done("7"));
    node.run_all();
    EXPECT_FALSE(node.dispatcher().is_empty());
    faulty().fault = FaultyTasks::Fault::kNone;
    pass(1s);
    node.run_all();
    EXPECT_EQ(state_of(id), State::kCompleted);
    EXPECT_EQ(get(id).result, "7");
    EXPECT_THAT(history_of(id), SizeIs(1));
  }
}

TEST_P(DispatcherLoops, FindsALostClaim) {
  TestNode node = this->node();
  const TaskId id = submit();
  faulty().fault = FaultyTasks::Fault::kAfter;
  node.run_all();
  EXPECT_THAT(node.executor().started, IsEmpty());
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  node.run_all();
  EXPECT_THAT(node.executor().started, ElementsAre(id));
  EXPECT_EQ(get(id).attempt, 1);
}

TEST_P(DispatcherLoops, ReleasesChoresAndYieldsRunsWhenDrained) {
  TestNode node = this->node({.dispatcher = hoarding(1)});
  const TaskId runs = submit();
  const TaskId waits = submit();
  node.run_all();
  node.drain();
  node.settle_down();
  EXPECT_TRUE(node.is_drained);
  EXPECT_TRUE(node.dispatcher().is_empty());
  EXPECT_EQ(state_of(runs), State::kReady);
  EXPECT_EQ(newest_entry_of(runs).kind, HistoryKind::kYield);
  EXPECT_EQ(newest_entry_of(runs).progress, 0.5);
  EXPECT_EQ(get(runs).checkpoint, "5");
  EXPECT_EQ(state_of(waits), State::kReady);
  EXPECT_THAT(history_of(waits), IsEmpty());

  (void)submit();
  pass(1s);
  node.run_all();
  EXPECT_TRUE(node.dispatcher().is_empty());  // nothing is claimed any more
}

TEST_P(DispatcherLoops, SendsHeartbeatsUntilItIsDrained) {
  horae::Monitor monitor(tasks(), log());
  TestNode node = this->node();
  const TaskId id = submit();
  node.run_all();
  node.executor().stops_at_once = false;
  node.drain();
  for (int i = 0; i < 6; ++i) {
    live(kDefaultLease / 3, {&node});
    monitor.run_once(node_now());
  }
  EXPECT_EQ(get(id).attempt, 1);
  EXPECT_FALSE(node.is_drained);
  node.executor().end(id, run_done());  // it could finish after all
  node.settle_down();
  EXPECT_EQ(state_of(id), State::kCompleted);
  EXPECT_TRUE(node.is_drained);
}

TEST_P(DispatcherLoops, SchedulesARecurringTaskAgainAndReportsIt) {
  TestNode node = this->node();
  const TaskId id = submit({.recurring = 5s});
  node.run_all();
  node.executor().end(id);
  node.settle_down();
  EXPECT_EQ(state_of(id), State::kScheduled);
  EXPECT_EQ(node.scheduled, 1);
}

TEST_P(DispatcherLoops, SharesWorkBetweenTwoNodesWithoutRunningAnAttemptTwice) {
  const DispatcherOptions options = hoarding(2, 1);
  TestNode one = node({.owner = "node-1", .dispatcher = options});
  TestNode two = node({.owner = "node-2", .dispatcher = options});
  const auto ids = submit_many(20);
  for (int i = 0; i < 40; ++i) {
    for (TestNode* each : {&one, &two}) {
      each->run_all();
      for (const TaskId& id : each->executor().running()) each->executor().end(id);
    }
  }
  std::vector<TaskId> started = one.executor().started;
  EXPECT_THAT(started, ::testing::Not(IsEmpty()));
  EXPECT_THAT(two.executor().started, ::testing::Not(IsEmpty()));
  started.insert(started.end(), two.executor().started.begin(), two.executor().started.end());
  EXPECT_THAT(started, UnorderedElementsAreArray(ids));
  EXPECT_EQ(queue().completed, 20);
}

TEST_P(DispatcherLoops, MakesNoSecondAttemptAfterAnOutage) {
  horae::Monitor monitor(faulty(), log());
  TestNode node = this->node();
  const TaskId id = submit();
  const auto live_for = [&](Duration time) {
    for (Duration gone{}; gone < time; gone += 1s) {
      pass(1s);
      monitor.run_once(node_now());
      node.run_all();
    }
  };
  node.run_all();
  live_for(15s);
  faulty().fault = FaultyTasks::Fault::kBefore;
  live_for(30s);
  faulty().fault = FaultyTasks::Fault::kNone;
  live_for(15s);
  node.executor().end(id);
  live_for(1s);
  EXPECT_EQ(state_of(id), State::kCompleted);
  EXPECT_EQ(get(id).attempt, 1);
  EXPECT_THAT(node.executor().stopped, IsEmpty());
}

TEST_P(DispatcherLoops, KeepsItsTasksWhenTheStoresClockJumpsByAnHour) {
  horae::Monitor monitor(tasks(), log());
  TestNode node = this->node();
  const TaskId id = submit();
  node.run_all();
  for (int i = 0; i < 10; ++i) {
    pass(1s);
    monitor.run_once(node_now());
    node.run_all();
  }
  step_clock(1h);
  for (int i = 0; i < 10; ++i) {
    pass(1s);
    monitor.run_once(node_now());
    node.run_all();
  }
  EXPECT_EQ(get(id).attempt, 1);
  EXPECT_THAT(node.executor().stopped, IsEmpty());
}

TEST_P(DispatcherLoops, ShowsTheBacklogAndTheSlots) {
  TestNode node = this->node({.dispatcher = hoarding(2)});
  const TaskId urgent = submit({.priority = 200});
  const TaskId second = submit({.priority = 100});
  const TaskId third = submit({.priority = 10});
  const TaskId fourth = submit({.priority = 10});
  const MonotonicTime begin = node_now();
  node.run_all();
  pass(100ms);
  const DispatcherStatus status = node.dispatcher().status();
  ASSERT_THAT(status.slots, SizeIs(3));  // and one for upkeep
  ASSERT_TRUE(status.slots[0].run && status.slots[1].run);
  EXPECT_EQ(status.slots[0].run->task, urgent);
  EXPECT_EQ(status.slots[1].run->task, second);
  EXPECT_EQ(status.slots[1].run->queue, kQueue);
  EXPECT_EQ(status.slots[1].run->attempt, 1);
  EXPECT_EQ(status.slots[1].run->since, begin);
  EXPECT_TRUE(status.slots[2].is_internal);
  EXPECT_FALSE(status.slots[2].run);
  ASSERT_THAT(status.backlog, SizeIs(2));
  EXPECT_EQ(status.backlog[0].task, third);
  EXPECT_EQ(status.backlog[0].position, (ChorePosition{.level = 245, .place = 0, .ahead = 0}));
  EXPECT_EQ(status.backlog[1].task, fourth);
  EXPECT_EQ(status.backlog[1].position, (ChorePosition{.level = 245, .place = 1, .ahead = 1}));
  EXPECT_EQ(status.backlog[1].since, begin);
}

TEST_P(DispatcherLoops, PublishesTheNumbersOfSlotsAndChores) {
  Metrics metrics;
  TestNode node = this->node({.dispatcher = hoarding(2), .meter = &metrics});
  (void)submit_many(5);
  node.run_all();
  EXPECT_THAT(metrics.text(), AllOf(HasSubstr("horae_slots 3\n"), HasSubstr("horae_slots_busy 2\n"),
                                    HasSubstr("horae_backlog 3\n"), HasSubstr("horae_waiting_workers 1\n")));
}

TEST_P(DispatcherLoops, LogsARefusedEnd) {
  TestNode node = this->node();
  const TaskId id = submit();
  node.run_all();
  (void)cancel(id);
  node.executor().end(id);
  node.settle_down();
  EXPECT_THAT(said(), AllOf(HasSubstr("the end of a run was refused"), HasSubstr(to_string(id))));
  EXPECT_EQ(state_of(id), State::kCancelled);
  EXPECT_TRUE(node.dispatcher().status().backlog.empty());
}

}  // namespace
}  // namespace horae::testing
