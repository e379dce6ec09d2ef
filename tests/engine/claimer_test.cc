#include <deque>
#include <utility>

#include "tests/engine/claimer.h"

namespace horae::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Worker = WaitingWorker;

TEST_P(ClaimerLoop, ClaimsForAllWaitingWorkersInOneCall) {
  TestClaimer claimer(faulty(), log(), [] {});
  prove_empty(claimer);
  const int before = faulty().claims;
  (void)submit_many(3);
  Worker first, second;
  claimer.wait(wish(1, "worker-1"), node_now() + 1min, first.deliver());
  claimer.wait(wish(5, "worker-2"), node_now() + 1min, second.deliver());
  claimer.on_wake_ups({.counted = {{kQueue, 3}}});
  claimer.run_once(node_now());
  ASSERT_THAT(first.tasks, SizeIs(1));
  ASSERT_THAT(second.tasks, SizeIs(2));
  EXPECT_EQ(get(first.tasks[0].id).owner, "worker-1");
  EXPECT_EQ(get(second.tasks[0].id).owner, "worker-2");
  EXPECT_EQ(faulty().claims - before, 1);
  EXPECT_EQ(claimer.waiting(), 0U);
}

TEST_P(ClaimerLoop, LetsAWorkerWaitUntilATaskIsReady) {
  int wakes = 0;
  TestClaimer claimer(faulty(), log(), [&] { ++wakes; });
  Worker worker;
  claimer.wait(wish(), node_now() + 1min, worker.deliver());
  EXPECT_EQ(claimer.run_once(node_now()), node_now() + 1s);  // another node may make something ready
  EXPECT_EQ(wakes, 1) << "for the deadline";
  EXPECT_EQ(worker.calls, 0);
  EXPECT_EQ(claimer.waiting(), 1U);

  const TaskId id = submit();
  claimer.on_ready({"another"});
  EXPECT_FALSE(claimer.run_rounds());
  claimer.on_ready({kQueue});
  EXPECT_TRUE(claimer.run_rounds());
  EXPECT_EQ(wakes, 1) << "the combiner needs no pass";
  ASSERT_THAT(worker.tasks, SizeIs(1));
  EXPECT_EQ(worker.tasks[0].id, id);
}

TEST_P(ClaimerLoop, MakesNoClaimWithoutAReason) {
  TestClaimer claimer(faulty(), log(), [] {});
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
  TestClaimer claimer(tasks(), log(), [] {});
  Worker worker;
  claimer.wait(wish(), node_now() + 1min, worker.deliver());
  const MonotonicTime poll = claimer.run_once(node_now());
  pass(900ms);
  claimer.on_ready({kQueue});
  EXPECT_EQ(claimer.run_once(node_now()), poll);
}

TEST_P(ClaimerLoop, GivesReleasedTasksToWaitingWorkersAtOnce) {
  TestClaimer claimer(observed(), log(), [] {});
  connect(claimer);
  const TaskId id = submit();
  Worker gone, patient;
  gone.is_gone = true;
  claimer.wait(wish(1, "worker-1"), node_now() + 1min, gone.deliver());
  claimer.wait(wish(1, "worker-2"), node_now() + 1min, patient.deliver());
  (void)claimer.run_rounds();
  ASSERT_THAT(patient.tasks, SizeIs(1));
  EXPECT_EQ(patient.tasks[0].id, id);
}

TEST_P(ClaimerLoop, KeepsAWakeUpThatComesDuringAClaim) {
  TestClaimer claimer(faulty(), log(), [] {});
  Worker worker;
  TaskId id;
  claimer.wait(wish(), node_now() + 1min, worker.deliver());
  bool is_first = true;
  faulty().before_claims_answer = [&] {
    if (!std::exchange(is_first, false)) return;
    id = submit();
    claimer.on_ready({kQueue});
  };
  (void)claimer.run_rounds();
  ASSERT_THAT(worker.tasks, SizeIs(1));
  EXPECT_EQ(worker.tasks[0].id, id);
}

TEST_P(ClaimerLoop, ReleasesTasksOfALostAnswerWhenTheNodeStops) {
  TestClaimer claimer(faulty(), log(), [] {});
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
  TestClaimer claimer(faulty(), log(), [] {});
  Worker worker;
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kInternal}) {
    faulty().code = code;
    faulty().fault = FaultyTasks::Fault::kBefore;
    claimer.wait(wish(), node_now() + 1min, worker.deliver());
    EXPECT_EQ(claimer.run_once(node_now()), node_now() + 1s);
  }
  EXPECT_EQ(worker.calls, 0);
}

TEST_P(ClaimerLoop, AnswersWithNothingAtTheDeadline) {
  TestClaimer claimer(tasks(), log(), [] {});
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
  TestClaimer claimer(tasks(), log(), [] {});
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
  TestClaimer claimer(tasks(), log(), [] {});
  (void)submit();
  Worker worker;
  const auto ticket = claimer.wait(wish(), node_now() + 1min, worker.deliver());
  claimer.forget(ticket);
  claimer.forget(ticket);
  claimer.run_once(node_now());
  claimer.run_once(node_now());
  EXPECT_EQ(worker.calls, 0);
  EXPECT_EQ(queue().ready, 1);
  EXPECT_EQ(claim("worker-2").attempt, 2) << "its claim was under way";
}

TEST_P(ClaimerLoop, FindsALostAnswerByItsToken) {
  TestClaimer claimer(faulty(), log(), [] {});
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
  TestClaimer claimer(faulty(), log(), [] {});
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
  TestClaimer claimer(faulty(), log(), [] {});
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
  TestClaimer claimer(faulty(), log(), [] {});
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
  TestClaimer claimer(faulty(), log(), [] {});
  Worker worker;
  claimer.wait(own_wish(), node_now(), worker.deliver());
  faulty().fault = FaultyTasks::Fault::kBefore;
  faulty().code = ErrorCode::kInternal;
  claimer.run_once(node_now());
  EXPECT_EQ(worker.failure, ErrorCode::kUnavailable);
}

TEST_P(ClaimerLoop, KeepsTasksUnderItsOwnTokenForAWorkerThatIsGone) {
  TestClaimer claimer(faulty(), log(), [] {});
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
  TestClaimer claimer(faulty(), log(), [] {});
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
  TestClaimer claimer(faulty(), log(), [] {});
  (void)submit();
  Worker worker;
  const ClaimWish its_own = own_wish();
  const auto ticket = claimer.wait(its_own, node_now() + 1min, worker.deliver());
  faulty().fault = FaultyTasks::Fault::kAfter;
  claimer.run_once(node_now());
  claimer.forget(ticket);
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  claimer.run_once(node_now());
  EXPECT_EQ(worker.calls, 0);
  EXPECT_TRUE(claimer.is_empty());
  EXPECT_THAT(faulty().leases_of(its_own.token).value(), SizeIs(1));
}

TEST_P(ClaimerLoop, GivesTheSameTasksToTwoWaitsUnderOneToken) {
  TestClaimer claimer(faulty(), log(), [] {});
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
  TestClaimer claimer(faulty(), log(), [] {});
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
  TestClaimer claimer(faulty(), log(), [] {});
  (void)submit_many(2);
  const ClaimWish its_own = own_wish();
  (void)complete(claim(its_own).at(0));
  Worker worker;
  claimer.wait(its_own, node_now() + 1min, worker.deliver());
  (void)claimer.run_rounds();
  EXPECT_EQ(worker.calls, 1);
  EXPECT_THAT(worker.tasks, IsEmpty());
  EXPECT_EQ(worker.failure, std::nullopt);
  EXPECT_TRUE(claimer.is_empty());
}

// Between the claim that found nothing and the check of the token.
TEST_P(ClaimerLoop, FindsTasksThatAnotherNodeGotUnderTheTokenMeanwhile) {
  TestClaimer claimer(faulty(), log(), [] {});
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
  TestClaimer claimer(faulty(), log(), [] {}, {.poll = 1min});
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

TEST_P(ClaimerLoop, ReleasesTasksOfAForgottenWorkerWithALostAnswer) {
  TestClaimer claimer(faulty(), log(), [] {});
  (void)submit();
  Worker worker;
  const auto ticket = claimer.wait(wish(), node_now() + 1min, worker.deliver());
  faulty().fault = FaultyTasks::Fault::kAfter;
  claimer.run_once(node_now());
  claimer.forget(ticket);
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  claimer.run_once(node_now());
  EXPECT_EQ(worker.calls, 0);
  EXPECT_EQ(queue().ready, 1);
}

TEST_P(ClaimerLoop, RetriesAFailureBeforeTheNextPoll) {
  TestClaimer claimer(faulty(), log(), [] {}, {.poll = 1h});
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
  TestClaimer claimer(faulty(), log(), [] {});
  EXPECT_THAT(claimer.take_awaited(), IsEmpty());
  Worker patient, hasty;
  claimer.wait(wish(1, "worker-1", {"b", "a"}), node_now() + 1min, patient.deliver());
  claimer.wait(wish(1, "worker-2", {"c", "a"}), node_now(), hasty.deliver());
  claimer.run_once(node_now());
  EXPECT_THAT(claimer.take_awaited(), ::testing::ElementsAre("a", "b", "c")) << "also of workers that are gone already";
  EXPECT_THAT(claimer.take_awaited(), ::testing::ElementsAre("a", "b"));
}

// ---- Who is woken ----

TEST_P(ClaimerLoop, AsksNothingOnArrivalIfTheQueueProvedEmpty) {
  TestClaimer claimer(faulty(), log(), [] {});
  prove_empty(claimer);
  const int before = faulty().claims;
  std::deque<Worker> workers(10);
  for (Worker& each : workers) claimer.wait(wish(), node_now() + 1min, each.deliver());
  (void)claimer.run_rounds();
  EXPECT_EQ(faulty().claims, before);
  (void)submit();
  claimer.on_wake_ups({.counted = {{kQueue, 1}}});
  Worker late;
  claimer.wait(wish(), node_now() + 1min, late.deliver());
  (void)claimer.run_rounds();
  EXPECT_THAT(workers[0].tasks, SizeIs(1)) << "first come, first served";
}

TEST_P(ClaimerLoop, WakesAsManyAsThereAreTasks) {
  TestClaimer claimer(observed(), log(), [] {});
  connect(claimer);
  prove_empty(claimer);
  std::deque<Worker> workers(20);
  for (Worker& each : workers) claimer.wait(wish(), node_now() + 1min, each.deliver());
  (void)claimer.run_rounds();
  const int before = faulty().asked_for;
  for (int i = 0; i < 3; ++i) (void)submit_to(observed());
  (void)claimer.run_rounds();
  EXPECT_EQ(faulty().asked_for - before, 3);
  for (std::size_t i = 0; i < workers.size(); ++i) EXPECT_EQ(workers[i].calls, i < 3 ? 1 : 0);
}

TEST_P(ClaimerLoop, AHintWakesOneAndRepeatsWhileClaimsComeBackFull) {
  TestClaimer claimer(faulty(), log(), [] {});
  prove_empty(claimer);
  std::deque<Worker> workers(20);
  for (Worker& each : workers) claimer.wait(wish(), node_now() + 1min, each.deliver());
  (void)submit_many(3);
  const int before = faulty().asked_for;
  claimer.on_ready({kQueue});
  (void)claimer.run_rounds();
  EXPECT_EQ(faulty().asked_for - before, 4) << "the fourth finds nothing";
}

TEST_P(ClaimerLoop, APollOfAThousandWaitsIsOneClaim) {
  TestClaimer claimer(faulty(), log(), [] {});
  prove_empty(claimer);
  std::deque<Worker> workers(1'000);
  for (Worker& each : workers) claimer.wait(own_wish(), node_now() + 1h, each.deliver());
  claimer.run_once(node_now());
  const int before = faulty().asked_for;
  const int calls = faulty().calls;
  for (int second = 0; second < 10; ++second) {
    pass(1s);
    claimer.run_once(node_now());
  }
  EXPECT_EQ(faulty().asked_for - before, 10);
  EXPECT_EQ(faulty().calls - calls, 20) << "one claim and one look at the tokens each second";
}

// Without Permits::note_failure() the second task waits for the next poll.
TEST_P(ClaimerLoop, GivesThePermitsOfAFailedClaimToTheNext) {
  TestClaimer claimer(faulty(), log(), [] {}, {.poll = 1h});
  prove_empty(claimer);
  Worker gone, patient;
  const auto ticket = claimer.wait(wish(1, "worker-1"), node_now() + 1h, gone.deliver());
  claimer.wait(wish(1, "worker-2"), node_now() + 1h, patient.deliver());
  const TaskId id = submit();
  claimer.on_wake_ups({.counted = {{kQueue, 1}}});
  claimer.forget(ticket);
  faulty().fault = FaultyTasks::Fault::kBefore;
  claimer.run_once(node_now());
  faulty().fault = FaultyTasks::Fault::kNone;
  pass(1s);
  claimer.run_once(node_now());
  EXPECT_EQ(gone.calls, 0);
  EXPECT_THAT(ids_of(patient.tasks), ::testing::ElementsAre(id));
}

// ---- Settlements and claims in one call ----

TEST_P(ClaimerLoop, SettlesAndClaimsInOneCommit) {
  TestClaimer claimer(faulty(), log(), [] {});
  (void)submit_many(2);
  const LeasedTask first = lease(wish()).at(0);
  Claimer::Answer got;
  claimer.exchange({.owner = kOwner,
                    .settlements = {completion_of(first)},
                    .claim = own_wish(),
                    .deliver = [&](Claimer::Answer answer) { return got = std::move(answer), true; }});
  EXPECT_EQ(faulty().exchanges, 0);
  (void)claimer.run_rounds();
  EXPECT_EQ(faulty().exchanges, 1);
  ASSERT_THAT(got.settled, SizeIs(1));
  EXPECT_EQ(got.settled[0]->verdict, Verdict::kAccepted);
  ASSERT_TRUE(got.tasks.ok());
  EXPECT_THAT(*got.tasks, SizeIs(1));
}

TEST_P(ClaimerLoop, SettlesWhileItDrains) {
  TestClaimer claimer(faulty(), log(), [] {});
  (void)submit_many(2);
  const LeasedTask first = lease(wish()).at(0);
  claimer.drain();
  Claimer::Answer got;
  claimer.exchange({.owner = kOwner,
                    .settlements = {completion_of(first)},
                    .claim = own_wish(),
                    .deliver = [&](Claimer::Answer answer) { return got = std::move(answer), true; }});
  (void)claimer.run_rounds();
  EXPECT_EQ(got.settled.at(0)->verdict, Verdict::kAccepted);
  EXPECT_EQ(queue().ready, 1);
}

// ---- Attention ----

TEST_P(ClaimerLoop, ACancelEndsTheWaitsOfItsOwner) {
  TestClaimer claimer(faulty(), log(), [] {});
  prove_empty(claimer);
  Claimer::Answer alone, claiming, another;
  const auto into = [](Claimer::Answer& answer) {
    return [&answer](Claimer::Answer got) { return answer = std::move(got), true; };
  };
  claimer.exchange({.owner = "worker-1", .wait_until = node_now() + 1min, .deliver = into(alone)});
  claimer.exchange(
      {.owner = "worker-1", .claim = wish(1, "worker-1"), .wait_until = node_now() + 1min, .deliver = into(claiming)});
  claimer.exchange({.owner = "worker-2", .wait_until = node_now() + 1min, .deliver = into(another)});
  claimer.on_wake_ups({.cancelled = true, .cancelled_owners = {"worker-1"}});
  EXPECT_TRUE(alone.has_attention);
  EXPECT_TRUE(claiming.has_attention);
  EXPECT_FALSE(another.has_attention);
  EXPECT_EQ(claimer.waiting(), 0U);
}

TEST_P(ClaimerLoop, ACancelDoesNotEndAWaitOfTheNodeItself) {
  TestClaimer claimer(faulty(), log(), [] {});
  prove_empty(claimer);
  bool is_answered = false;
  claimer.wait(wish(1, "worker-1"), node_now() + 1min,
               [&is_answered](const Result<std::vector<LeasedTask>>&) { return is_answered = true; });
  claimer.on_wake_ups({.cancelled = true, .cancelled_owners = {"worker-1"}});
  EXPECT_FALSE(is_answered);
  EXPECT_EQ(claimer.waiting(), 1U);
}

TEST_P(ClaimerLoop, ACancelIsKeptForTheNextCallOfItsOwner) {
  TestClaimer claimer(faulty(), log(), [] {});
  prove_empty(claimer);
  claimer.on_wake_ups({.cancelled = true, .cancelled_owners = {"worker-1"}});
  for (const bool expected : {true, false}) {
    Claimer::Answer got;
    bool is_answered = false;
    claimer.exchange({.owner = "worker-1", .wait_until = node_now() + 1min, .deliver = [&](Claimer::Answer answer) {
                        got = std::move(answer);
                        return is_answered = true;
                      }});
    EXPECT_EQ(is_answered, expected) << "it is given once";
    EXPECT_EQ(got.has_attention, expected);
  }
}

TEST_P(ClaimerLoop, ACancelIsKeptIfTheCallThatItEndedIsGone) {
  TestClaimer claimer(faulty(), log(), [] {});
  prove_empty(claimer);
  claimer.exchange(
      {.owner = "worker-1", .wait_until = node_now() + 1min, .deliver = [](const Claimer::Answer&) { return false; }});
  claimer.on_wake_ups({.cancelled = true, .cancelled_owners = {"worker-1"}});
  bool has_attention = false;
  claimer.exchange({.owner = "worker-1", .wait_until = node_now() + 1min, .deliver = [&](const Claimer::Answer& got) {
                      return has_attention = got.has_attention, true;
                    }});
  EXPECT_TRUE(has_attention);
}

// "Nothing" would hide what its token may hold.
TEST_P(ClaimerLoop, ACancelLetsAFreshTokenClaimFirst) {
  TestClaimer claimer(faulty(), log(), [] {});
  prove_empty(claimer);
  (void)submit();
  const ClaimWish its_own = own_wish();
  const auto held = lease(its_own);
  Claimer::Answer got;
  claimer.exchange({.owner = its_own.owner,
                    .claim = its_own,
                    .wait_until = node_now() + 1min,
                    .deliver = [&](Claimer::Answer answer) { return got = std::move(answer), true; }});
  claimer.on_wake_ups({.cancelled = true, .cancelled_owners = {its_own.owner}});
  (void)claimer.run_rounds();
  EXPECT_TRUE(got.has_attention);
  EXPECT_EQ(*got.tasks, held);
}

}  // namespace
}  // namespace horae::testing
