// Queues, their settings and counts, and worker ids.

#include <set>

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

TEST_P(Queues, AFreshStoreHasNone) { EXPECT_THAT(value_of(queues().queues()).queues, IsEmpty()); }

TEST_P(Queues, ComeByName) {
  for (const char* name : {"b", "a.2", "B", "a-1", "a"}) configure(name, {});
  std::vector<std::string> names;
  const QueueList list = value_of(queues().queues());
  for (const QueueInfo& info : list.queues) names.push_back(info.name);
  EXPECT_THAT(names, ElementsAre("B", "a", "a-1", "a.2", "b"));
}

TEST_P(Queues, ConfiguringMakesAQueueAndChangesOnlyWhatIsNamed) {
  QueueSettings expected;
  EXPECT_EQ(value_of(queues().configure("new", {})), expected);
  expected.paused = true;
  EXPECT_EQ(value_of(queues().configure("new", {.paused = true})), expected);
  expected.ageing_rate = 9;
  EXPECT_EQ(value_of(queues().configure("new", {.ageing_rate = 9})), expected);
  expected.retention = 1h;
  EXPECT_EQ(value_of(queues().configure("new", {.retention = 1h})), expected);
  EXPECT_EQ(value_of(queues().configure("new", {})), expected);
  EXPECT_EQ(queue("new").settings, expected);
}

TEST_P(Queues, SettingsOutOfRangeAreRefusedAndChangeNothing) {
  EXPECT_EQ(code_of(queues().configure("new", {.ageing_rate = -1})), ErrorCode::kRefused);
  EXPECT_EQ(code_of(queues().configure("new", {.ageing_rate = kMaxAgeingRate + 1})), ErrorCode::kRefused);
  EXPECT_EQ(code_of(queues().configure("new", {.paused = true, .retention = -1s})), ErrorCode::kRefused);
  EXPECT_EQ(code_of(queues().configure("new", {.retention = kMaxRetention + 1us})), ErrorCode::kRefused);
  EXPECT_EQ(code_of(queues().configure("not a name", {})), ErrorCode::kRefused);
  EXPECT_EQ(code_of(queues().configure("", {})), ErrorCode::kRefused);
  EXPECT_THAT(value_of(queues().queues()).queues, IsEmpty());
}

TEST_P(Queues, TheLimitsOfTheSettingsAreAllowed) {
  EXPECT_EQ(value_of(queues().configure("q", {.ageing_rate = kMaxAgeingRate, .retention = kMaxRetention})),
            (QueueSettings{.ageing_rate = kMaxAgeingRate, .retention = kMaxRetention}));
  EXPECT_EQ(value_of(queues().configure("q", {.ageing_rate = 0, .retention = 0s})),
            (QueueSettings{.ageing_rate = 0, .retention = Duration::zero()}));
}

TEST_P(Queues, TheLongestNameIsAName) {
  const std::string name(kMaxQueueNameLength, 'q');
  (void)submit({.queue = name});
  EXPECT_EQ(queue(name).ready, 1);
}

TEST_P(Queues, CountTheirLiveTasks) {
  (void)submit_many(3, {.run_at = now() + 1h});
  (void)submit_many(6);
  (void)claim_up_to(2);
  (void)submit({.queue = "other"});
  const QueueInfo info = queue();
  EXPECT_EQ(info.scheduled, 3);
  EXPECT_EQ(info.ready, 4);
  EXPECT_EQ(info.running, 2);
  EXPECT_EQ(queue("other").ready, 1);
}

TEST_P(Queues, LiveCountsFollowEveryEvent) {
  const auto expect = [&](std::int64_t scheduled, std::int64_t ready, std::int64_t running) {
    const QueueInfo info = queue();
    EXPECT_EQ(info.scheduled, scheduled);
    EXPECT_EQ(info.ready, ready);
    EXPECT_EQ(info.running, running);
  };
  (void)submit({.run_at = now() + 1s, .retry = {.kind = RetryPolicy::Kind::kFixed, .delay = 1s}});
  expect(1, 0, 0);
  advance(1s);
  (void)promote();
  expect(0, 1, 0);
  Lease lease = claim();
  expect(0, 0, 1);
  (void)yield(lease);
  expect(0, 1, 0);
  (void)release(claim());
  expect(0, 1, 0);
  (void)claim();
  (void)lose_leases();
  expect(0, 1, 0);
  (void)abort(claim());
  expect(1, 0, 0);
  (void)cancel(lease.id);
  expect(0, 0, 0);
}

// Counts of finished tasks may be as old as `as_of`, so they are exact only if that is now.
TEST_P(Queues, CountTheirFinishedTasks) {
  configure(kQueue, {});  // so that it is not forgotten
  (void)submit_many(6);
  const auto leases = claim_up_to(6);
  for (const std::size_t i : {0U, 1U, 2U}) (void)complete(leases[i]);
  for (const std::size_t i : {3U, 4U}) (void)abort(leases[i]);
  (void)cancel(leases[5].id);
  const QueueList list = value_of(queues().queues());
  EXPECT_LE(list.as_of, now());
  if (list.as_of < now()) return;
  const QueueInfo info = queue();
  EXPECT_EQ(info.completed, 3);
  EXPECT_EQ(info.aborted, 2);
  EXPECT_EQ(info.cancelled, 1);
  advance(kDefaultRetention + 1us);
  (void)purge();
  EXPECT_EQ(queue().completed + queue().aborted + queue().cancelled, 0);
}

TEST_P(Queues, ATaskThatRecursIsNotCountedAsFinished) {
  (void)complete(start({.recurring = 1h}));
  EXPECT_EQ(queue().completed, 0);
  EXPECT_EQ(queue().scheduled, 1);
}

TEST_P(Queues, TellHowLongTheLongestReadyTaskHasBeenReady) {
  EXPECT_EQ(code_of(queues().configure(kQueue, {})), std::nullopt);
  EXPECT_EQ(queue().oldest_ready, std::nullopt);
  (void)submit({.priority = 10});
  EXPECT_EQ(queue().oldest_ready, Duration::zero());
  advance(5s);
  (void)submit({.priority = 200});  // claimed first, but not the oldest
  (void)submit({.run_at = now() + 1h});
  EXPECT_EQ(queue().oldest_ready, Duration(5s));
  (void)claim();
  EXPECT_EQ(queue().oldest_ready, Duration(5s));
  (void)claim();
  EXPECT_EQ(queue().oldest_ready, std::nullopt);
}

TEST_P(Queues, APromotedTaskIsReadySinceItsPromotion) {
  (void)submit({.run_at = now() + 1s});
  advance(1h);
  (void)promote();
  advance(3s);
  EXPECT_EQ(queue().oldest_ready, Duration(3s));
}

// ---- The end of queues ----

using Removal = QueueRemoval::Kind;

TEST_P(Queues, ARemovedQueueGoesWithItsFinishedTasks) {
  const Lease completed = start({.key = "k"});
  (void)complete(completed);
  const Lease aborted = start();
  (void)abort(aborted);
  (void)cancel(submit());
  EXPECT_EQ(value_of(queues().remove(kQueue, 2)), (QueueRemoval{Removal::kPurging, 2}));
  EXPECT_EQ(value_of(queues().remove(kQueue, 2)), (QueueRemoval{Removal::kPurging, 1}));
  EXPECT_TRUE(find_queue(kQueue));
  EXPECT_EQ(value_of(queues().remove(kQueue, 2)), (QueueRemoval{Removal::kRemoved, 0}));
  EXPECT_FALSE(find_queue(kQueue));
  EXPECT_FALSE(find(completed.id));
  EXPECT_FALSE(find(aborted.id));
  EXPECT_EQ(complete(completed), Verdict::kNotFound);
  EXPECT_EQ(value_of(queues().remove(kQueue, 2)), (QueueRemoval{Removal::kNotFound, 0}));
  EXPECT_EQ(try_submit({.key = "k", .spec = "[]"}).kind, SubmitOutcome::Kind::kCreated) << "its keys are free";
}

TEST_P(Queues, AQueueInWhichATaskWaitsOrRunsIsNotRemoved) {
  (void)submit({.queue = "scheduled", .run_at = now() + 1h});
  (void)submit({.queue = "ready"});
  (void)start({.queue = "running"});
  (void)complete(start({.queue = "recurring", .recurring = 1h}));
  for (const char* name : {"scheduled", "ready", "running", "recurring"}) {
    const TaskId finished = submit({.queue = name});
    (void)cancel(finished);
    EXPECT_EQ(value_of(queues().remove(name, 10)), (QueueRemoval{Removal::kHasTasks, 0})) << name;
    EXPECT_TRUE(find(finished)) << "nothing was done";
    EXPECT_TRUE(find_queue(name));
  }
}

TEST_P(Queues, RemovingLeavesOtherQueuesAlone) {
  const Lease other = start({.queue = "other"});
  (void)complete(other);
  (void)cancel(submit());
  EXPECT_EQ(value_of(queues().remove(kQueue, 10)).kind, Removal::kPurging);
  EXPECT_EQ(value_of(queues().remove(kQueue, 10)).kind, Removal::kRemoved);
  EXPECT_EQ(state_of(other.id), State::kCompleted);
  EXPECT_EQ(queue("other").completed, 1);
}

TEST_P(Queues, OnlyAQueueThatExistsIsRemoved) {
  EXPECT_EQ(value_of(queues().remove("none", 10)).kind, Removal::kNotFound);
  EXPECT_EQ(code_of(queues().remove("not a name", 10)), ErrorCode::kRefused);
}

TEST_P(Queues, ARemovedQueueIsMadeAgainByItsNextTaskWithDefaultSettings) {
  configure(kQueue, {.paused = true, .ageing_rate = 0, .retention = 1h});
  EXPECT_EQ(value_of(queues().remove(kQueue, 10)).kind, Removal::kRemoved);
  EXPECT_THAT(claim_up_to(1), IsEmpty());
  const TaskId id = submit();
  EXPECT_EQ(queue().settings, QueueSettings());
  EXPECT_EQ(claim().id, id);
}

TEST_P(Queues, AnEmptyQueueThatWasNeverConfiguredIsForgottenAfterAnHour) {
  (void)cancel(submit());
  EXPECT_EQ(value_of(queues().remove(kQueue, 10)).kind, Removal::kPurging);  // it is empty now
  advance(kQueueMemory);
  (void)purge();
  EXPECT_TRUE(find_queue(kQueue));
  advance(1us);
  EXPECT_EQ(purge().purged, 0U);
  EXPECT_FALSE(find_queue(kQueue));
}

TEST_P(Queues, AQueueIsForgottenWithItsLastFinishedTask) {
  (void)complete(start());
  advance(kDefaultRetention);
  (void)purge();
  EXPECT_TRUE(find_queue(kQueue));
  advance(1us);
  EXPECT_EQ(purge().purged, 1U);
  EXPECT_FALSE(find_queue(kQueue));
}

TEST_P(Queues, AQueueIsNeverForgottenWhileATaskWaitsOrRunsInIt) {
  (void)submit({.queue = "scheduled", .run_at = now() + 24h * 366 * 5});
  (void)submit({.queue = "ready"});
  (void)start({.queue = "running"});
  advance(24h * 366);
  (void)purge();
  for (const char* name : {"scheduled", "ready", "running"}) EXPECT_TRUE(find_queue(name)) << name;
}

TEST_P(Queues, AConfiguredQueueIsNeverForgotten) {
  configure("made", {});
  (void)cancel(submit());
  configure(kQueue, {.paused = false});
  advance(24h * 366);
  (void)purge();
  (void)purge();
  EXPECT_TRUE(find_queue("made"));
  EXPECT_TRUE(find_queue(kQueue));
}

TEST_P(Queues, OnlySoManyAreForgottenAtOnce) {
  for (const char* name : {"a", "b", "c"}) {
    (void)cancel(submit({.queue = name}));
    (void)value_of(queues().remove(name, 10));
  }
  advance(2h);
  (void)purge(2);
  EXPECT_EQ(value_of(queues().queues()).queues.size(), 1U);
  (void)purge(2);
  EXPECT_THAT(value_of(queues().queues()).queues, IsEmpty());
}

// ---- How many a token may make ----

std::shared_ptr<const QueueAllowance> allowance(std::string token, std::size_t most) {
  return std::make_shared<const QueueAllowance>(QueueAllowance{.token = std::move(token), .most = most});
}

TEST_P(Queues, ATokenMakesNoMoreQueuesThanItMay) {
  const auto two = allowance("t-1", 2);
  const auto for_queue = [&](const char* name, const std::shared_ptr<const QueueAllowance>& whose) {
    Submission each = submission({.queue = name});
    each.allowance = whose;
    return each;
  };
  (void)submit({.queue = "there"});
  std::vector<SubmitOutcome::Kind> kinds;
  for (const SubmitOutcome& outcome :
       submit_all({for_queue("a", two), for_queue("there", two), for_queue("b", two), for_queue("c", two),
                   for_queue("a", two), for_queue("d", allowance("t-2", 2)), for_queue("e", nullptr)})) {
    kinds.push_back(outcome.kind);
  }
  using Kind = SubmitOutcome::Kind;
  EXPECT_THAT(kinds, ElementsAre(Kind::kCreated, Kind::kCreated, Kind::kCreated, Kind::kOverAllowance, Kind::kCreated,
                                 Kind::kCreated, Kind::kCreated));
  EXPECT_FALSE(find_queue("c"));

  // Neither another call nor a restart gives it more.
  EXPECT_EQ(submit_all({for_queue("c", two)})[0].kind, Kind::kOverAllowance);
  (void)reopen();
  EXPECT_EQ(submit_all({for_queue("c", two)})[0].kind, Kind::kOverAllowance);
  EXPECT_EQ(submit_all({for_queue("a", two)})[0].kind, Kind::kCreated);
}

TEST_P(Queues, AQueueThatEndedNoLongerCountsForItsToken) {
  Submission first = submission({.queue = "a"});
  Submission second = submission({.queue = "b"});
  first.allowance = second.allowance = allowance("t-1", 1);
  (void)submit_all({first});
  EXPECT_EQ(submit_all({second})[0].kind, SubmitOutcome::Kind::kOverAllowance);
  (void)cancel(first.id());
  (void)value_of(queues().remove("a", 10));
  EXPECT_EQ(value_of(queues().remove("a", 10)).kind, Removal::kRemoved);
  EXPECT_EQ(submit_all({second})[0].kind, SubmitOutcome::Kind::kCreated);
}

TEST_P(Queues, ACallerWithoutRoomTakesNoneFromOneThatHasSome) {
  Submission first = submission();
  Submission second = submission();
  Submission third = submission();
  first.allowance = allowance("t-1", 0);
  second.allowance = allowance("t-2", 1);
  EXPECT_EQ(submit_all({first, second, third})[1].kind, SubmitOutcome::Kind::kCreated);
  Submission later = submission();
  later.allowance = first.allowance;
  EXPECT_EQ(submit_all({later})[0].kind, SubmitOutcome::Kind::kCreated) << "the queue exists";
}

TEST_P(Queues, AnAllowanceOfNothingMakesNone) {
  Submission first = submission();
  first.allowance = allowance("t-1", 0);
  const SubmitOutcome outcome = submit_all({first})[0];
  EXPECT_EQ(outcome.kind, SubmitOutcome::Kind::kOverAllowance);
  EXPECT_EQ(submit_error(first, outcome).code, ErrorCode::kOverLimit);
  EXPECT_THAT(value_of(queues().queues()).queues, IsEmpty());
}

TEST_P(Queues, EveryWorkerIdIsNew) {
  std::set<std::string> given;
  for (int i = 0; i < 20; ++i) {
    const std::string id = value_of(queues().new_worker_id());
    EXPECT_THAT(id, MatchesRegex("worker-[0-9]+"));
    EXPECT_TRUE(given.insert(id).second) << id;
  }
}

}  // namespace
}  // namespace horae::testing
