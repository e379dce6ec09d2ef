// What was acknowledged is there after a restart. A store in memory has nothing to show here.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

TEST_P(Reopen, TasksInEveryStateAreThereUnchanged) {
  const Lease completed = start({.spec = R"("\u0000")"});
  Settlement done = settlement(Event::kComplete, completed);
  done.result = "[1]";
  (void)settle(done);
  const Lease aborted = start();
  (void)abort(aborted);
  const Lease cancelled = start();
  (void)cancel(cancelled.id, "no");
  const Lease running = start();
  Settlement beat = settlement(Event::kHeartbeat, running);
  beat.progress = 0.1;
  beat.checkpoint = "[2]";
  (void)settle(beat);
  const Lease yielded = start();
  (void)yield(yielded);
  const TaskId scheduled = submit({.key = "k", .run_at = now() + 1h, .recurring = 1h});

  std::vector<Task> before;
  const std::vector<TaskId> ids = {completed.id, aborted.id, cancelled.id, running.id, yielded.id, scheduled};
  for (const TaskId& id : ids) before.push_back(get(id));
  if (!reopen()) return;
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(get(ids[i]), before[i]);
  EXPECT_EQ(value_of(tasks().find(kQueue, "k"))->id, scheduled);
}

TEST_P(Reopen, ARunningAttemptGoesOn) {
  const Lease lease = start();
  if (!reopen()) return;
  EXPECT_THAT(claim_up_to(10), IsEmpty());
  EXPECT_EQ(heartbeat(lease), Verdict::kAccepted);
  EXPECT_EQ(complete(lease), Verdict::kAccepted);
}

// What is claimed first may show how to claim quickly.
TEST_P(Reopen, ATaskWithTheNilUuidIsDelivered) {
  (void)submit({.id = Uuid{}, .spec = "[1]"});
  if (!reopen()) return;
  (void)start({.priority = 255});
  const Lease lease = claim();
  EXPECT_EQ(lease.id, Uuid{});
  EXPECT_EQ(lease.spec, "[1]");
}

TEST_P(Reopen, AClaimWhoseReplyWasLostCanBeResolved) {
  (void)submit_many(3);
  const ClaimWish mine = wish(2);
  const auto leases = claim(mine);
  if (!reopen()) return;
  EXPECT_EQ(ids_of(value_of(tasks().leases_of(mine.token))), ids_of(leases));
}

TEST_P(Reopen, ARepeatedSettleIsRecognised) {
  const Lease first = start();
  (void)yield(first);
  (void)claim("worker-2");
  if (!reopen()) return;
  EXPECT_EQ(yield(first), Verdict::kRepeated);
  EXPECT_EQ(complete(first), Verdict::kStaleAttempt);
}

TEST_P(Reopen, ARepeatedSubmitIsRecognised) {
  const Submission plain = submission();
  const Submission keyed = submission({.key = "k"});
  const auto first = submit_all({plain, keyed});
  if (!reopen()) return;
  const auto again = submit_all({plain, keyed, submission({.key = "k", .priority = 1})});
  EXPECT_EQ(again[0].kind, SubmitOutcome::Kind::kPresent);
  EXPECT_EQ(again[1].kind, SubmitOutcome::Kind::kPresent);
  EXPECT_EQ(again[1].id, first[1].id);
  EXPECT_EQ(again[2].kind, SubmitOutcome::Kind::kConflict);
}

TEST_P(Reopen, TheOrderOfClaimsStays) {
  configure(kQueue, {.ageing_rate = 3});
  (void)submit({.priority = 10});
  advance(7s);
  (void)submit({.priority = 31});
  (void)submit({.priority = 30});
  const auto order = ids_in({.kind = ListKind::kReady});
  if (!reopen()) return;
  const TaskId late = submit({.priority = 29});
  auto expected = order;
  expected.push_back(late);
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAreArray(expected));
}

TEST_P(Reopen, AttemptsAndNumbersGoOn) {
  const Lease lease = start();
  (void)yield(lease);
  if (!reopen()) return;
  EXPECT_EQ(claim().attempt, 2);
  EXPECT_GT(try_submit({}).number, lease.number);
}

TEST_P(Reopen, NumbersOfPurgedTasksAreNotUsedAgain) {
  configure(kQueue, {.retention = 0s});
  const Lease lease = start();
  (void)complete(lease);
  advance(1us);
  (void)purge();
  if (!reopen()) return;
  EXPECT_GT(try_submit({}).number, lease.number);
}

TEST_P(Reopen, QueuesAndTheSchedulerStayAsTheyWere) {
  const QueueSettings settings = value_of(queues().configure("q", {.paused = true, .ageing_rate = 4, .retention = 2h}));
  (void)value_of(queues().set_scheduler_running(false));
  if (!reopen()) return;
  EXPECT_EQ(queue("q").settings, settings);
  EXPECT_FALSE(value_of(queues().scheduler_running()));
}

TEST_P(Reopen, WorkerIdsAreNotGivenAgain) {
  std::vector<std::string> before;
  for (int i = 0; i < 3; ++i) before.push_back(value_of(queues().new_worker_id()));
  if (!reopen()) return;
  const std::string next = value_of(queues().new_worker_id());
  EXPECT_EQ(std::count(before.begin(), before.end(), next), 0);
}

TEST_P(Reopen, TheStampOfTheMonitorStays) {
  (void)start();
  extend_leases();
  const auto stamp = look().stamp;
  if (!reopen()) return;
  EXPECT_EQ(look().stamp, stamp);
  EXPECT_TRUE(look().has_leases);
}

TEST_P(Reopen, MessagesStay) {
  const Message waiting{.id = "w", .deadline = now() + 1h, .key = "", .headers = {{"a", std::nullopt}, {"a", ""}}};
  const Message due{.id = "r", .deadline = now() + 1s, .value = std::string("\0\xff", 2)};
  const std::vector<NewMessage> batch = {{waiting, RecordPlace{1, 2}}, {due}};
  const auto readied = value_of(messages().enqueue({.delay_queue = "delay",
                                                    .node = new_id(),
                                                    .horizon = 1s,
                                                    .ready = {.max = 10, .max_bytes = 1000},
                                                    .messages = batch}))
                           .readied;
  if (!reopen()) return;
  const auto found = value_of(messages().get("delay", std::vector<std::string>{"w", "r"}));
  EXPECT_EQ(found.at(0), (StoredMessage{waiting, waiting.deadline, RecordPlace{1, 2}, std::nullopt}));
  EXPECT_EQ(found.at(1), (StoredMessage{due, due.deadline, std::nullopt, readied.at(0).readying}));
  const std::vector<Readying> fired = {readied.at(0).readying};
  EXPECT_THAT(value_of(messages().turn({.delay_queue = "delay", .fired = fired})).removed, ElementsAre(true));
}

TEST_P(Reopen, ACursorStaysGood) {
  const auto ids = submit_many(4);
  ListQuery query{.kind = ListKind::kAll, .limit = 2};
  query.cursor = value_of(tasks().list(query)).next;
  if (!reopen()) return;
  EXPECT_THAT(ids_in(query), ElementsAre(ids[1], ids[0]));
}

TEST_P(Reopen, AgainAndAgain) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(submit());
    if (!reopen()) return;
  }
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAreArray(ids));
}

}  // namespace
}  // namespace horae::testing
