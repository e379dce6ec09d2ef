// Every batch and every item has a limit, and what is beyond it changes nothing.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- Empty batches ----

TEST_P(Limits, EmptyBatchesDoNothing) {
  EXPECT_THAT(value_of(tasks().submit({})), IsEmpty());
  EXPECT_THAT(value_of(tasks().claim({})), IsEmpty());
  EXPECT_THAT(value_of(tasks().settle({})), IsEmpty());
  EXPECT_THAT(value_of(tasks().cancel({})), IsEmpty());
  EXPECT_THAT(value_of(tasks().get({})), IsEmpty());
  EXPECT_THAT(value_of(messages().enqueue({.delay_queue = "delay"})).kinds, IsEmpty());
  EXPECT_THAT(value_of(messages().turn({.delay_queue = "delay"})).removed, IsEmpty());
  EXPECT_THAT(value_of(messages().reset("delay", {})), IsEmpty());
  EXPECT_THAT(value_of(messages().get("delay", {})), IsEmpty());
  EXPECT_THAT(value_of(messages().cancel("delay", {})), IsEmpty());
  EXPECT_THAT(value_of(messages().move("delay", {})), IsEmpty());
  EXPECT_THAT(value_of(messages().look({})), IsEmpty());
}

// ---- Batches that are too large ----

TEST_P(Limits, AWholeBatchIsAllowedAndOneMoreIsRefused) {
  std::vector<Submission> all;
  for (std::size_t i = 0; i < kMaxBatch + 1; ++i) all.push_back(submission());
  EXPECT_EQ(code_of(tasks().submit(all)), ErrorCode::kRefused);
  EXPECT_THAT(claim_up_to(1), IsEmpty());
  all.pop_back();
  EXPECT_THAT(submit_all(all), SizeIs(kMaxBatch));
}

TEST_P(Limits, EveryOtherBatchHasTheSameLimit) {
  const Lease lease = start();
  const auto refused = [](const auto& result) { return code_of(result) == ErrorCode::kRefused; };
  const std::vector done(kMaxBatch + 1, settlement(Event::kComplete, lease));
  EXPECT_TRUE(refused(tasks().settle(done)));
  EXPECT_TRUE(refused(tasks().cancel(std::vector(kMaxBatch + 1, CancelWish{.id = lease.id}))));
  EXPECT_TRUE(refused(tasks().get(std::vector(kMaxBatch + 1, lease.id))));
  EXPECT_TRUE(refused(tasks().claim(std::vector(kMaxBatch + 1, wish()))));
  EXPECT_EQ(state_of(lease.id), State::kRunning);

  std::vector<NewMessage> sent;
  for (std::size_t i = 0; i < kMaxBatch + 1; ++i) sent.push_back({{.id = std::to_string(i), .deadline = now() + 1s}});
  EXPECT_TRUE(refused(messages().enqueue({.delay_queue = "delay", .messages = sent})));
  const std::vector<std::string> ids(kMaxBatch + 1, "0");
  EXPECT_FALSE(value_of(messages().list({.delay_queue = "delay"})).messages.size());
  const std::vector fired(kMaxBatch + 1, Readying{.id = "0"});
  EXPECT_TRUE(refused(messages().turn({.delay_queue = "delay", .fired = fired})));
  const std::vector failed(kMaxBatch + 1, GiveBack{.readying = {.id = "0"}});
  EXPECT_TRUE(refused(messages().turn({.delay_queue = "delay", .failed = failed})));
  EXPECT_TRUE(refused(messages().reset("delay", fired)));
  EXPECT_TRUE(refused(messages().get("delay", ids)));
  EXPECT_TRUE(refused(messages().cancel("delay", ids)));
  EXPECT_TRUE(refused(messages().look(std::vector<std::string>(kMaxBatch + 1, "delay"))));
}

// ---- Items that fail their check ----

TEST_P(Limits, OneBadSubmissionRefusesItsBatch) {
  const Submission good = submission();
  std::vector<NewTask> bad(8, good.task);
  bad[0].queue = "no queue!";
  bad[1].priority = 256;
  bad[2].priority = -1;
  bad[3].spec = "";
  bad[4].spec = std::string(kMaxSpecBytes + 1, ' ');
  bad[5].key = "";
  bad[6].recurring = 0s;
  bad[7].max_attempts = -1;
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const std::vector batch{good, Submission{.task = bad[i], .new_id = new_id()}, submission()};
    EXPECT_EQ(code_of(tasks().submit(batch)), ErrorCode::kRefused) << "variant " << i;
  }
  EXPECT_FALSE(find(good.id()));
  EXPECT_THAT(value_of(queues().queues()).queues, IsEmpty());
}

TEST_P(Limits, OneBadWishRefusesItsBatch) {
  (void)submit_many(3);
  std::vector<ClaimWish> bad(9, wish());
  bad[0].owner = "";
  bad[1].owner = "worker\n1";
  bad[2].queues = {};
  bad[3].queues = {"a", "b", "a"};
  bad[4].queues = std::vector<std::string>(kMaxQueuesOfAClaim + 1, "a");
  bad[5].max = 0;
  bad[6].max = static_cast<int>(kMaxBatch) + 1;
  bad[7].lease = kMinLease - 1us;
  bad[8].lease = kMaxLease + 1us;
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(code_of(tasks().claim(std::vector{wish(), bad[i]})), ErrorCode::kRefused) << "variant " << i;
  }
  EXPECT_EQ(queue().ready, 3);
}

TEST_P(Limits, OneBadSettlementRefusesItsBatch) {
  (void)submit_many(2);
  const auto leases = claim_up_to(2);
  const Settlement good = settlement(Event::kComplete, leases[0]);
  std::vector<Settlement> bad(8, settlement(Event::kHeartbeat, leases[1]));
  bad[0].event = Event::kCancel;
  bad[1].event = Event::kClaim;
  bad[2].owner = "";
  bad[3].lease = 0s;
  bad[4].checkpoint = std::string(kMaxCheckpointBytes + 1, ' ');
  bad[5] = settlement(Event::kComplete, leases[1]);
  bad[5].result = std::string(kMaxResultBytes + 1, ' ');
  bad[6] = settlement(Event::kAbort, leases[1]);
  bad[6].errors.clear();
  bad[7] = settlement(Event::kAbort, leases[1]);
  bad[7].errors = std::vector<TaskError>(kMaxErrors + 1, TaskError{.code = "e"});
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(code_of(tasks().settle(std::vector{good, bad[i]})), ErrorCode::kRefused) << "variant " << i;
  }
  EXPECT_EQ(state_of(leases[0].id), State::kRunning);
  EXPECT_EQ(complete(leases[0]), Verdict::kAccepted);
}

TEST_P(Limits, OneBadCancelRefusesItsBatch) {
  const TaskId id = submit();
  const CancelWish good{.id = id};
  const CancelWish bad{.id = id, .reason = std::string(kMaxReasonBytes + 1, 'x')};
  EXPECT_EQ(code_of(tasks().cancel(std::vector{good, bad})), ErrorCode::kRefused);
  EXPECT_EQ(state_of(id), State::kReady);
  EXPECT_EQ(cancel(id, std::string(kMaxReasonBytes, 'x')), Verdict::kAccepted);
}

TEST_P(Limits, OneBadMessageRefusesItsBatch) {
  const NewMessage good{{.id = "good", .deadline = now() + 1s}};
  for (const std::string& id : {std::string(), std::string(kMaxMessageIdCharacters + 1, 'x'), std::string("\xff")}) {
    const std::vector<NewMessage> batch = {good, {{.id = id, .deadline = now()}}};
    EXPECT_EQ(code_of(messages().enqueue({.delay_queue = "delay", .messages = batch})), ErrorCode::kRefused);
  }
  EXPECT_THAT(value_of(messages().list({.delay_queue = "delay"})).messages, IsEmpty());
}

TEST_P(Limits, ANameThatNoDelayQueueCanHaveIsRefused) {
  const std::string name = "no queue!";
  const std::vector<NewMessage> good = {{{.id = "good", .deadline = now()}}};
  const auto refused = [](const auto& result) { return code_of(result) == ErrorCode::kRefused; };
  EXPECT_TRUE(refused(messages().enqueue({.delay_queue = name, .messages = good})));
  EXPECT_TRUE(refused(messages().turn({.delay_queue = name})));
  EXPECT_TRUE(refused(messages().held_by({.delay_queue = name})));
  EXPECT_TRUE(refused(messages().stuck({.delay_queue = name})));
  EXPECT_TRUE(refused(messages().reset(name, {})));
  EXPECT_TRUE(refused(messages().get(name, {})));
  EXPECT_TRUE(refused(messages().cancel(name, {})));
  EXPECT_TRUE(refused(messages().move(name, {})));
  EXPECT_TRUE(refused(messages().list({.delay_queue = name})));
  EXPECT_TRUE(refused(messages().counts(name, 0s, 1)));
  EXPECT_TRUE(refused(messages().look(std::vector{name})));
}

// ---- Queues ----

TEST_P(Limits, TenThousandQueuesAndNoMore) {
  std::size_t made = 0;
  while (made < kMaxQueues) {
    std::vector<Submission> batch;
    for (; batch.size() < kMaxBatch; ++made) batch.push_back(submission({.queue = "q" + std::to_string(made)}));
    for (const SubmitOutcome& outcome : submit_all(batch)) ASSERT_EQ(outcome.kind, SubmitOutcome::Kind::kCreated);
  }
  const auto outcomes =
      submit_all({submission({.queue = "q0"}), submission({.queue = "one-more"}), submission({.queue = "q1"})});
  EXPECT_EQ(outcomes[0].kind, SubmitOutcome::Kind::kCreated);
  EXPECT_EQ(outcomes[1].kind, SubmitOutcome::Kind::kOverLimit);
  EXPECT_EQ(outcomes[1].number, 0);
  EXPECT_EQ(outcomes[2].kind, SubmitOutcome::Kind::kCreated);
  EXPECT_EQ(code_of(queues().configure("one-more", {.paused = true})), ErrorCode::kOverLimit);
  EXPECT_EQ(code_of(queues().configure("q0", {.paused = true})), std::nullopt);
  EXPECT_THAT(value_of(queues().queues()).queues, SizeIs(kMaxQueues));
  EXPECT_THAT(claim_up_to(10, kOwner, {"one-more"}), IsEmpty());
}

}  // namespace
}  // namespace horae::testing
