#include <deque>
#include <utility>

#include "tests/engine/claimer.h"

namespace horae::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Worker = WaitingWorker;

TEST_P(ClaimerLoop, ClaimsForAllWaitingWorkersInOneCall) {
  Claimer claimer(faulty(), log(), [] {});
  (void)submit_many(3);
  Worker first, second;
  claimer.wait(wish(1, "worker-1"), node_now() + 1min, first.deliver());
  claimer.wait(wish(5, "worker-2"), node_now() + 1min, second.deliver());
  claimer.run_once(node_now());
  ASSERT_THAT(first.tasks, SizeIs(1));
  ASSERT_THAT(second.tasks, SizeIs(2));
  EXPECT_EQ(get(first.tasks[0].id).owner, "worker-1");
  EXPECT_EQ(get(second.tasks[0].id).owner, "worker-2");
  EXPECT_EQ(faulty().claims, 1);
  EXPECT_EQ(claimer.waiting(), 0U);
}

TEST_P(ClaimerLoop, LetsAWorkerWaitUntilATaskIsReady) {
  int wakes = 0;
  Claimer claimer(faulty(), log(), [&] { ++wakes; });
  Worker worker;
  claimer.wait(wish(), node_now() + 1min, worker.deliver());
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(claimer.run_once(node_now()), node_now() + 1s);  // another node may make something ready
  EXPECT_EQ(worker.calls, 0);
  EXPECT_EQ(claimer.waiting(), 1U);

  const TaskId id = submit();
  claimer.on_ready({"another"});
  EXPECT_EQ(wakes, 1);
  claimer.on_ready({kQueue});
  EXPECT_EQ(wakes, 2);
  claimer.run_once(node_now());
  ASSERT_THAT(worker.tasks, SizeIs(1));
  EXPECT_EQ(worker.tasks[0].id, id);
}

TEST_P(ClaimerLoop, MakesNoClaimWithoutAReason) {
  Claimer claimer(faulty(), log(), [] {});
  Worker worker;
  claimer.run_once(node_now());
  EXPECT_EQ(faulty().claims, 0);
  claimer.wait(wish(), node_now() + 1min, worker.deliver());
  for (int i = 0; i < 5; ++i) claimer.run_once(node_now());
  EXPECT_EQ(faulty().claims, 1);
  pass(1s);
  claimer.run_once(node_now());
  EXPECT_EQ(faulty().claims, 2);
}

TEST_P(ClaimerLoop, PollsOnTimeDespiteWakeUps) {
  Claimer claimer(tasks(), log(), [] {});
  Worker worker;
  claimer.wait(wish(), node_now() + 1min, worker.deliver());
  const MonotonicTime poll = claimer.run_once(node_now());
  pass(900ms);
  claimer.on_ready({kQueue});
  EXPECT_EQ(claimer.run_once(node_now()), poll);
}

TEST_P(ClaimerLoop, GivesReleasedTasksToWaitingWorkersAtOnce) {
  int wakes = 0;
  Claimer claimer(observed(), log(), [&] { ++wakes; });
  connect(claimer);
  const TaskId id = submit();
  Worker gone, patient;
  gone.is_gone = true;
  claimer.wait(wish(1, "worker-1"), node_now() + 1min, gone.deliver());
  claimer.wait(wish(1, "worker-2"), node_now() + 1min, patient.deliver());
  EXPECT_EQ(claimer.run_once(node_now()), node_now());
  EXPECT_EQ(wakes, 3);
  claimer.run_once(node_now());
  ASSERT_THAT(patient.tasks, SizeIs(1));
  EXPECT_EQ(patient.tasks[0].id, id);
}

TEST_P(ClaimerLoop, KeepsAWakeUpThatComesDuringAClaim) {
  Claimer claimer(faulty(), log(), [] {});
  Worker worker;
  TaskId id;
  claimer.wait(wish(), node_now() + 1min, worker.deliver());
  bool is_first = true;
  faulty().before_claims_answer = [&] {
    if (!std::exchange(is_first, false)) return;
    id = submit();
    claimer.on_ready({kQueue});
  };
  EXPECT_EQ(claimer.run_once(node_now()), node_now());
  claimer.run_once(node_now());
  ASSERT_THAT(worker.tasks, SizeIs(1));
  EXPECT_EQ(worker.tasks[0].id, id);
}

TEST_P(ClaimerLoop, ReleasesTasksOfALostAnswerWhenTheNodeStops) {
  Claimer claimer(faulty(), log(), [] {});
  (void)submit();
  Worker worker, late;
  claimer.wait(wish(), node_now() + 1min, worker.deliver());
  faulty().fault = FaultyTasks::Fault::kAfter;
  claimer.run_once(node_now());
  claimer.drain();
  EXPECT_FALSE(claimer.is_empty());
  claimer.run_once(node_now());
  EXPECT_EQ(worker.failure, ErrorCode::kUnavailable);
  EXPECT_FALSE(claimer.is_empty());  // the store is still away

  faulty().fault = FaultyTasks::Fault::kNone;
  claimer.wait(wish(1, "worker-2"), node_now() + 1min, late.deliver());
  pass(1s);
  claimer.run_once(node_now());
  EXPECT_TRUE(claimer.is_empty());
  EXPECT_EQ(late.calls, 1);
  EXPECT_THAT(late.tasks, IsEmpty());
  EXPECT_EQ(queue().ready, 1);
}

TEST_P(ClaimerLoop, WaitsBeforeItRetriesAFailedClaim) {
  Claimer claimer(faulty(), log(), [] {});
  Worker worker;
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kInternal}) {
    faulty().code = code;
    faulty().fault = FaultyTasks::Fault::kBefore;
    claimer.wait(wish(), node_now() + 1min, worker.deliver());
    EXPECT_EQ(claimer.run_once(node_now()), node_now() + 1s);
  }
  EXPECT_EQ(worker.calls, 0);
}

TEST_P(ClaimerLoop, ClaimsAtMostOneBatchOfTasks) {
  Claimer claimer(faulty(), log(), [] {});
  (void)submit_many(20);
  Worker large, small, last;
  claimer.wait(wish(static_cast<int>(kMaxBatch) - 1, "worker-1", {"other"}), node_now() + 1min, large.deliver());
  claimer.wait(wish(2, "worker-2"), node_now() + 1min, small.deliver());
  claimer.wait(wish(1, "worker-3"), node_now() + 1min, last.deliver());
  EXPECT_EQ(claimer.run_once(node_now()), node_now());  // the rest at once
  EXPECT_EQ(small.calls, 0);
  EXPECT_THAT(last.tasks, SizeIs(1));
  claimer.run_once(node_now());
  EXPECT_THAT(small.tasks, SizeIs(2));
  EXPECT_EQ(faulty().claims, 2);
}

TEST_P(ClaimerLoop, AnswersWithNothingAtTheDeadline) {
  Claimer claimer(tasks(), log(), [] {});
  Worker worker;
  claimer.wait(wish(), node_now() + 300ms, worker.deliver());
  EXPECT_EQ(claimer.run_once(node_now()), node_now() + 300ms);
  pass(300ms);
  claimer.run_once(node_now());
  EXPECT_EQ(worker.calls, 1);
  EXPECT_THAT(worker.tasks, IsEmpty());
  EXPECT_EQ(worker.failure, std::nullopt);
  EXPECT_EQ(claimer.waiting(), 0U);
}

TEST_P(ClaimerLoop, ReleasesTasksOfAWorkerThatIsGone) {
  Claimer claimer(tasks(), log(), [] {});
  (void)submit_many(2);
  Worker worker;
  worker.is_gone = true;
  claimer.wait(wish(2), node_now() + 1min, worker.deliver());
  claimer.run_once(node_now());
  const auto leases = claim_up_to(5, "worker-2");
  ASSERT_THAT(leases, SizeIs(2));
  EXPECT_EQ(leases[0].attempt, 2);
  EXPECT_EQ(get(leases[0].id).tries, 0);
}

TEST_P(ClaimerLoop, DoesNotCallAForgottenWorker) {
  Claimer claimer(tasks(), log(), [] {});
  (void)submit();
  Worker worker;
  const auto ticket = claimer.wait(wish(), node_now() + 1min, worker.deliver());
  EXPECT_EQ(claimer.forget(ticket), Claimer::Forgotten::kHeldNothing);
  EXPECT_EQ(claimer.forget(ticket), Claimer::Forgotten::kIsUnderWay);
  claimer.run_once(node_now());
  EXPECT_EQ(worker.calls, 0);
  EXPECT_EQ(queue().ready, 1);
}

TEST_P(ClaimerLoop, FindsALostAnswerByItsToken) {
  Claimer claimer(faulty(), log(), [] {});
  const TaskId id = submit();
  Worker worker;
  claimer.wait(wish(), node_now() + 1min, worker.deliver());
  faulty().fault = FaultyTasks::Fault::kAfter;
  claimer.run_once(node_now());
  EXPECT_EQ(worker.calls, 0);
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  claimer.run_once(node_now());
  ASSERT_THAT(worker.tasks, SizeIs(1));
  EXPECT_EQ(worker.tasks[0].id, id);
  EXPECT_EQ(worker.tasks[0].attempt, 1);
}

TEST_P(ClaimerLoop, RepeatsAClaimThatDidNothing) {
  Claimer claimer(faulty(), log(), [] {});
  (void)submit();
  Worker worker;
  claimer.wait(wish(), node_now() + 1min, worker.deliver());
  faulty().fault = FaultyTasks::Fault::kBefore;
  claimer.run_once(node_now());
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  claimer.run_once(node_now());
  EXPECT_THAT(worker.tasks, SizeIs(1));
}

TEST_P(ClaimerLoop, ReleasesTasksOfAWorkerThatGaveUp) {
  Claimer claimer(faulty(), log(), [] {});
  (void)submit();
  Worker worker;
  claimer.wait(wish(), node_now() + 500ms, worker.deliver());
  faulty().fault = FaultyTasks::Fault::kAfter;
  claimer.run_once(node_now());
  pass(500ms);
  claimer.run_once(node_now());
  EXPECT_EQ(worker.failure, ErrorCode::kUnavailable);
  EXPECT_EQ(queue().running, 1);
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  claimer.run_once(node_now());
  EXPECT_EQ(queue().running, 0);
  EXPECT_EQ(claim("worker-2").attempt, 2);
}

TEST_P(ClaimerLoop, KeepsTasksOfAWorkerThatCanRepeatItsToken) {
  Claimer claimer(faulty(), log(), [] {});
  (void)submit();
  Worker worker;
  const ClaimWish its_own = own_wish();
  claimer.wait(its_own, node_now() + 500ms, worker.deliver());
  faulty().fault = FaultyTasks::Fault::kAfter;
  claimer.run_once(node_now());
  pass(500ms);
  claimer.run_once(node_now());
  EXPECT_EQ(worker.failure, ErrorCode::kUnavailable);
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  claimer.run_once(node_now());
  EXPECT_TRUE(claimer.is_empty());
  EXPECT_THAT(faulty().leases_of(its_own.token).value(), SizeIs(1));
}

// It may repeat a claim that got tasks, so "nothing" would be a lie.
TEST_P(ClaimerLoop, AnswersAFailedClaimUnderAWorkersTokenWithAnError) {
  Claimer claimer(faulty(), log(), [] {});
  Worker worker;
  claimer.wait(own_wish(), node_now(), worker.deliver());
  faulty().fault = FaultyTasks::Fault::kBefore;
  faulty().code = ErrorCode::kInternal;
  claimer.run_once(node_now());
  EXPECT_EQ(worker.failure, ErrorCode::kUnavailable);
}

TEST_P(ClaimerLoop, KeepsTasksUnderItsOwnTokenForAWorkerThatIsGone) {
  Claimer claimer(faulty(), log(), [] {});
  (void)submit();
  Worker worker;
  worker.is_gone = true;
  const ClaimWish its_own = own_wish();
  claimer.wait(its_own, node_now() + 1min, worker.deliver());
  claimer.run_once(node_now());
  EXPECT_EQ(worker.calls, 1);
  EXPECT_TRUE(claimer.is_empty());
  EXPECT_THAT(faulty().leases_of(its_own.token).value(), SizeIs(1)) << "it may have called another node by now";
}

TEST_P(ClaimerLoop, KeepsALostAnswerUnderItsOwnTokenForAWorkerThatIsGone) {
  Claimer claimer(faulty(), log(), [] {});
  (void)submit();
  Worker worker;
  const ClaimWish its_own = own_wish();
  claimer.wait(its_own, node_now() + 1min, worker.deliver());
  faulty().fault = FaultyTasks::Fault::kAfter;
  claimer.run_once(node_now());
  worker.is_gone = true;
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  claimer.run_once(node_now());
  EXPECT_EQ(worker.calls, 1);
  EXPECT_THAT(faulty().leases_of(its_own.token).value(), SizeIs(1));
}

TEST_P(ClaimerLoop, KeepsTasksUnderItsOwnTokenForAForgottenWorker) {
  Claimer claimer(faulty(), log(), [] {});
  (void)submit();
  Worker worker;
  const ClaimWish its_own = own_wish();
  const auto ticket = claimer.wait(its_own, node_now() + 1min, worker.deliver());
  faulty().fault = FaultyTasks::Fault::kAfter;
  claimer.run_once(node_now());
  EXPECT_EQ(claimer.forget(ticket), Claimer::Forgotten::kMayHoldTasks);
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  claimer.run_once(node_now());
  EXPECT_EQ(worker.calls, 0);
  EXPECT_TRUE(claimer.is_empty());
  EXPECT_THAT(faulty().leases_of(its_own.token).value(), SizeIs(1));
}

TEST_P(ClaimerLoop, GivesTheSameTasksToTwoWaitsUnderOneToken) {
  Claimer claimer(faulty(), log(), [] {});
  (void)submit_many(3);
  Worker first, second;
  const ClaimWish its_own = own_wish();
  claimer.wait(its_own, node_now() + 1min, first.deliver());
  claimer.wait(its_own, node_now() + 1min, second.deliver());
  claimer.run_once(node_now());
  ASSERT_THAT(first.tasks, SizeIs(1));
  EXPECT_EQ(second.tasks, first.tasks);
  EXPECT_EQ(queue().running, 1);
}

TEST_P(ClaimerLoop, FindsALostAnswerUnderAWorkersTokenByTheNextClaim) {
  Claimer claimer(faulty(), log(), [] {});
  const TaskId id = submit();
  (void)submit();
  Worker worker;
  claimer.wait(own_wish(), node_now() + 1min, worker.deliver());
  faulty().fault = FaultyTasks::Fault::kAfter;
  claimer.run_once(node_now());
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  claimer.run_once(node_now());
  ASSERT_THAT(worker.tasks, SizeIs(1));
  EXPECT_EQ(worker.tasks[0].id, id);
  EXPECT_EQ(faulty().looks, 0);
}

TEST_P(ClaimerLoop, EndsAWaitUnderATokenThatHasServedAtOnce) {
  Claimer claimer(faulty(), log(), [] {});
  (void)submit_many(2);
  const ClaimWish its_own = own_wish();
  (void)complete(claim(its_own).at(0));
  Worker worker;
  claimer.wait(its_own, node_now() + 1min, worker.deliver());
  EXPECT_EQ(claimer.run_once(node_now()), node_now());
  claimer.run_once(node_now());
  EXPECT_EQ(worker.calls, 1);
  EXPECT_THAT(worker.tasks, IsEmpty());
  EXPECT_EQ(worker.failure, std::nullopt);
  EXPECT_TRUE(claimer.is_empty());
}

// Between the claim that found nothing and the check of the token.
TEST_P(ClaimerLoop, FindsTasksThatAnotherNodeGotUnderTheTokenMeanwhile) {
  Claimer claimer(faulty(), log(), [] {});
  Worker worker;
  const ClaimWish its_own = own_wish();
  claimer.wait(its_own, node_now() + 1min, worker.deliver());
  bool is_first = true;
  faulty().before_claims_answer = [&] {
    if (!std::exchange(is_first, false)) return;
    (void)submit();
    EXPECT_THAT(claim(its_own), SizeIs(1));
  };
  while (claimer.run_once(node_now()) <= node_now()) {
  }
  EXPECT_THAT(worker.tasks, SizeIs(1));
}

TEST_P(ClaimerLoop, FindsTasksThatAnotherNodeGetsUnderTheTokenWithinAThirdOfTheLease) {
  Claimer claimer(faulty(), log(), [] {}, {.poll = 1min});
  Worker worker;
  const ClaimWish its_own = own_wish();
  claimer.wait(its_own, node_now() + 1min, worker.deliver());
  const MonotonicTime next = claimer.run_once(node_now());
  EXPECT_LE(next, node_now() + its_own.lease / 3);
  (void)submit();
  (void)claim(its_own);
  pass(its_own.lease / 3);
  claimer.run_once(node_now());
  EXPECT_THAT(worker.tasks, SizeIs(1));
}

TEST_P(ClaimerLoop, BoundsTheTokensOfOneClaimAndServesAllSoon) {
  Claimer claimer(faulty(), log(), [] {});
  std::deque<Worker> workers;
  for (std::size_t i = 0; i < kMaxOnceInAClaim + 1; ++i) {
    claimer.wait(own_wish(), node_now(), workers.emplace_back().deliver());
  }
  const TaskId id = submit();
  (void)claim(own_wish());
  EXPECT_EQ(claimer.run_once(node_now()), node_now());
  EXPECT_EQ(workers.back().calls, 0);
  (void)submit();
  claimer.run_once(node_now());
  EXPECT_THAT(workers.back().tasks, SizeIs(1));
  EXPECT_EQ(state_of(id), State::kRunning);
}

TEST_P(ClaimerLoop, ReleasesTasksOfAForgottenWorkerWithALostAnswer) {
  Claimer claimer(faulty(), log(), [] {});
  (void)submit();
  Worker worker;
  const auto ticket = claimer.wait(wish(), node_now() + 1min, worker.deliver());
  faulty().fault = FaultyTasks::Fault::kAfter;
  claimer.run_once(node_now());
  EXPECT_EQ(claimer.forget(ticket), Claimer::Forgotten::kMayHoldTasks);
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  claimer.run_once(node_now());
  EXPECT_EQ(worker.calls, 0);
  EXPECT_EQ(queue().ready, 1);
}

TEST_P(ClaimerLoop, RetriesAFailureBeforeTheNextPoll) {
  Claimer claimer(faulty(), log(), [] {}, {.poll = 1h});
  const TaskId id = submit();
  Worker worker;
  claimer.wait(wish(1), node_now() + 2h, worker.deliver());
  faulty().fault = FaultyTasks::Fault::kAfter;
  EXPECT_EQ(claimer.run_once(node_now()), node_now() + 1s);
  faulty().fault = FaultyTasks::Fault::kBefore;
  pass(1s);
  EXPECT_EQ(claimer.run_once(node_now()), node_now() + 1s);
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  claimer.run_once(node_now());
  EXPECT_THAT(ids_of(worker.tasks), ::testing::ElementsAre(id));
}

TEST_P(ClaimerLoop, ReturnsAwaitedQueues) {
  Claimer claimer(faulty(), log(), [] {});
  EXPECT_THAT(claimer.take_awaited(), IsEmpty());
  Worker patient, hasty;
  claimer.wait(wish(1, "worker-1", {"b", "a"}), node_now() + 1min, patient.deliver());
  claimer.wait(wish(1, "worker-2", {"c", "a"}), node_now(), hasty.deliver());
  claimer.run_once(node_now());
  EXPECT_THAT(claimer.take_awaited(), ::testing::ElementsAre("a", "b", "c")) << "also of workers that are gone already";
  EXPECT_THAT(claimer.take_awaited(), ::testing::ElementsAre("a", "b"));
}

}  // namespace
}  // namespace horae::testing
