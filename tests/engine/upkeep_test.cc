#include "engine/lifecycle/upkeep.h"

#include "engine/lifecycle/monitor.h"
#include "tests/engine/node.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Work that is done after so many batches.
struct Work {
  int batches = 0;
  std::optional<ErrorCode> failure;

  UpkeepJob job() {
    return {.name = "work", .step = [this]() -> Result<UpkeepStep> {
              if (failure) return Error{*failure, "no more"};
              if (batches == 0) return UpkeepStep{};
              --batches;
              return UpkeepStep{.did = "did a batch", .more = batches > 0};
            }};
  }
};

const ListQuery kInternals{.queue = kInternalQueue};

TEST_P(UpkeepLoop, LeavesNoTraceOfAPassWithoutWork) {
  Work work;
  TestNode node = this->node({.jobs = {work.job()}});
  EXPECT_EQ(node.upkeep().run_once(node_now()), node_now() + 1min);
  node.settle_down();
  EXPECT_THAT(list_all(kInternals), IsEmpty());
}

TEST_P(UpkeepLoop, RecordsAPassAsATaskThatNoWorkerCanClaim) {
  Work work{.batches = 3};
  TestNode node = this->node({.jobs = {work.job()}});
  node.upkeep().run_once(node_now());
  const auto tasks = list_all(kInternals);
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0].state, State::kRunning);
  EXPECT_EQ(tasks[0].owner, "node-1");
  EXPECT_EQ(tasks[0].max_attempts, 1);
  EXPECT_EQ(tasks[0].spec, R"({"run":"internal","job":"work","began":"did a batch"})");
  EXPECT_THAT(claim_up_to(1, "worker-9", {kInternalQueue}), IsEmpty());

  node.settle_down();
  EXPECT_EQ(node.busy_slots(), 1U);  // it shows in the status
  EXPECT_EQ(node.upkeep().run_once(node_now()), node_now() + 100ms);
  EXPECT_EQ(work.batches, 2);  // it takes a breath
  pass(100ms);
  node.upkeep().run_once(node_now());
  pass(100ms);
  node.upkeep().run_once(node_now());
  node.settle_down();
  const Task ended = get(tasks[0].id);
  EXPECT_EQ(ended.state, State::kCompleted);
  EXPECT_EQ(ended.result, R"({"output":"did a batch\ndid a batch\ndid a batch\n"})");
  EXPECT_TRUE(node.dispatcher().status().slots.back().is_internal);
  EXPECT_EQ(node.busy_slots(), 0U);
}

TEST_P(UpkeepLoop, KeepsTheLeaseOfARunningPassAndDelaysTheNext) {
  Work work{.batches = 1000};
  TestNode node = this->node({.jobs = {work.job()}});
  horae::Monitor monitor(tasks(), log());
  node.run_all();
  for (int i = 0; i < 40; ++i) {
    live(kDefaultLease / 3, {&node});
    monitor.run_once(node_now());
  }
  const auto tasks = list_all(kInternals);
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0].state, State::kRunning);
  EXPECT_EQ(tasks[0].attempt, 1);
}

TEST_P(UpkeepLoop, AbortsAPassForGoodAfterACrash) {
  Work work{.batches = 3};
  {
    TestNode node = this->node({.jobs = {work.job()}});
    node.run_all();
  }
  horae::Monitor monitor(tasks(), log());
  for (int i = 0; i < 12; ++i) {
    monitor.run_once(node_now());
    pass(1s);
  }
  const auto tasks = list_all(kInternals);
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0].state, State::kAborted);
  EXPECT_EQ(tasks[0].errors.at(0).code, "attempts_exhausted");
}

TEST_P(UpkeepLoop, AbortsAPassThatFails) {
  Work work{.batches = 3};
  TestNode node = this->node({.jobs = {work.job()}});
  node.run_all();
  work.failure = ErrorCode::kUnavailable;
  pass(100ms);
  node.run_all();
  const auto tasks = list_all(kInternals);
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0].state, State::kAborted);
  EXPECT_EQ(tasks[0].errors.at(0).code, "upkeep_failed");
  EXPECT_THAT(tasks[0].errors.at(0).description, HasSubstr("no more"));
}

TEST_P(UpkeepLoop, RecordsAPassOnceDespiteALostAnswer) {
  Work work{.batches = 2};
  TestNode node = this->node({.jobs = {work.job()}});
  faulty().fault = FaultyTasks::Fault::kAfter;
  EXPECT_EQ(node.upkeep().run_once(node_now()), node_now() + 1s);
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  node.run_all();
  pass(100ms);
  node.run_all();
  const auto tasks = list_all(kInternals);
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0].state, State::kCompleted);
}

TEST_P(UpkeepLoop, EndsItsPassesWhenTheNodeStops) {
  Work running{.batches = 100}, waiting{.batches = 100};
  UpkeepJob second = waiting.job();
  second.name = "second";
  TestNode node = this->node({.jobs = {running.job(), std::move(second)}});
  node.run_all();
  node.drain();
  node.settle_down();
  EXPECT_TRUE(node.is_drained);
  std::map<State, int> states;
  for (const Task& task : list_all(kInternals)) ++states[task.state];
  EXPECT_EQ(states, (std::map<State, int>{{State::kCompleted, 1}, {State::kAborted, 1}}));
}

TEST_P(UpkeepLoop, RunsWhileTasksFillAllSlots) {
  Work work{.batches = 2};
  TestNode node = this->node({.dispatcher = {.queues = {kQueue}, .slots = 1}, .jobs = {work.job()}});
  (void)submit_many(3);
  node.run_all();
  pass(100ms);
  node.run_all();
  EXPECT_EQ(list_all(kInternals).at(0).state, State::kCompleted);
}

TEST_P(UpkeepLoop, RemovesOldTasksAndReportsTheirNumber) {
  TestNode node = this->node({.jobs = {retention_job(faulty(), 2)}});
  (void)submit_many(5);
  for (const Lease& lease : claim_up_to(5)) (void)complete(lease);
  const TaskId alive = submit({.run_at = now() + 24h * 14});
  node.upkeep().run_once(node_now());
  EXPECT_THAT(list_all(kInternals), IsEmpty());
  pass(kDefaultRetention + 1us);
  for (int i = 0; i < 4; ++i) {
    node.run_all();
    pass(100ms);
  }
  EXPECT_TRUE(find(alive));
  EXPECT_EQ(queue().completed, 0);
  const auto tasks = list_all(kInternals);
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0].result,
            R"({"output":"purged 2 finished tasks\npurged 2 finished tasks\npurged 1 finished task\n"})");
}

TEST_P(UpkeepLoop, RetriesWhenTheStoreIsAway) {
  TestNode node = this->node({.jobs = {retention_job(faulty())}});
  const Lease lease = start();
  (void)complete(lease);
  pass(kDefaultRetention + 1us);
  faulty().fault = FaultyTasks::Fault::kBefore;
  EXPECT_EQ(node.upkeep().run_once(node_now()), node_now() + 1min);
  EXPECT_THAT(said(), HasSubstr("upkeep failed"));
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1min);
  node.run_all();
  EXPECT_FALSE(find(lease.id));
}

}  // namespace
}  // namespace horae::testing
