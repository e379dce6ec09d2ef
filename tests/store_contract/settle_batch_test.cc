// Settlements in batches, and how they name their task.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr std::array kWaysToEnd = {Event::kComplete, Event::kAbort, Event::kYield, Event::kRelease};

// ---- The number only saves a look-up ----

TEST_P(Settle, ASettlementNeedsNoNumber) {
  Settlement done = settlement(Event::kComplete, start());
  done.number = 0;
  EXPECT_EQ(settle(done).verdict, Verdict::kAccepted);
}

TEST_P(Settle, TheIdDecidesNotTheNumber) {
  (void)submit_many(2);
  const auto leases = claim_up_to(2);
  Settlement done = settlement(Event::kComplete, leases[0]);
  done.number = leases[1].number;
  EXPECT_EQ(settle(done).verdict, Verdict::kAccepted);
  EXPECT_EQ(state_of(leases[0].id), State::kCompleted);
  EXPECT_EQ(state_of(leases[1].id), State::kRunning);
}

// ---- Batches ----

TEST_P(Settle, AHeartbeatWithoutALengthKeepsThatOfOneBeforeItInItsBatch) {
  const Lease lease = start();
  Settlement longer = settlement(Event::kHeartbeat, lease);
  longer.lease = 30s;
  EXPECT_THAT(settle_all({longer, settlement(Event::kHeartbeat, lease)}), Each(Verdict::kAccepted));
  EXPECT_EQ(get(lease.id).lease_expires, now() + 30s);
  advance(1s);
  (void)heartbeat(lease);
  EXPECT_EQ(get(lease.id).lease_expires, now() + 30s);
}

TEST_P(Settle, EachItemOfABatchHasItsOwnOutcome) {
  (void)submit_many(4);
  auto leases = claim_up_to(4);
  (void)cancel(leases[3].id);
  leases[1].owner = "worker-2";
  Lease unknown = leases[0];
  unknown.id = new_id();
  unknown.number = 0;
  EXPECT_THAT(settle_all({settlement(Event::kComplete, leases[0]), settlement(Event::kComplete, leases[1]),
                          settlement(Event::kHeartbeat, leases[2]), settlement(Event::kYield, leases[3]),
                          settlement(Event::kAbort, unknown)}),
              ElementsAre(Verdict::kAccepted, Verdict::kStaleAttempt, Verdict::kAccepted, Verdict::kCancelled,
                          Verdict::kNotFound));
}

TEST_P(Settle, TheSameEndTwiceInABatchIsAcceptedOnce) {
  for (const Event event : kWaysToEnd) {
    const Lease lease = start({.queue = std::string(to_string(event))});
    EXPECT_THAT(settle_all({settlement(event, lease), settlement(event, lease)}),
                ElementsAre(Verdict::kAccepted, Verdict::kRepeated))
        << to_string(event);
  }
}

TEST_P(Settle, ALaterItemOfABatchSeesWhatAnEarlierOneDid) {
  const Lease lease = start();
  const auto outcomes =
      value_of(tasks().settle(std::vector{settlement(Event::kHeartbeat, lease), settlement(Event::kYield, lease),
                                          settlement(Event::kHeartbeat, lease), settlement(Event::kComplete, lease)}));
  EXPECT_EQ(outcomes[0].verdict, Verdict::kAccepted);
  EXPECT_EQ(outcomes[0].state, State::kRunning);
  EXPECT_EQ(outcomes[1].verdict, Verdict::kAccepted);
  EXPECT_EQ(outcomes[1].state, State::kReady);
  EXPECT_EQ(outcomes[2].verdict, Verdict::kWrongState);
  EXPECT_EQ(outcomes[3].verdict, Verdict::kWrongState);
}

TEST_P(Settle, TwoHeartbeatsOfOneTaskInABatchBothCount) {
  const Lease lease = start();
  Settlement first = settlement(Event::kHeartbeat, lease);
  first.lease = 20s;
  first.checkpoint = "1";
  Settlement second = settlement(Event::kHeartbeat, lease);
  second.lease = 30s;
  second.progress = 0.5;
  EXPECT_THAT(settle_all({first, second}), ElementsAre(Verdict::kAccepted, Verdict::kAccepted));
  EXPECT_EQ(get(lease.id).lease_expires, now() + 30s);
  EXPECT_EQ(get(lease.id).checkpoint, "1");
  EXPECT_EQ(get(lease.id).progress, 0.5);
}

TEST_P(Settle, CompleteAndAbortOfOneTaskInABatchTheFirstWins) {
  (void)submit_many(2);
  const auto leases = claim_up_to(2);
  EXPECT_THAT(settle_all({settlement(Event::kComplete, leases[0]), settlement(Event::kAbort, leases[0]),
                          settlement(Event::kAbort, leases[1]), settlement(Event::kComplete, leases[1])}),
              ElementsAre(Verdict::kAccepted, Verdict::kWrongState, Verdict::kAccepted, Verdict::kWrongState));
  EXPECT_EQ(state_of(leases[0].id), State::kCompleted);
  EXPECT_EQ(state_of(leases[1].id), State::kAborted);
}

TEST_P(Settle, AWholeBatchOfCompletions) {
  (void)submit_many(kMaxBatch);
  std::vector<Settlement> all;
  for (const Lease& lease : claim_up_to(kMaxBatch)) all.push_back(settlement(Event::kComplete, lease));
  EXPECT_THAT(settle_all(all), Each(Verdict::kAccepted));
  EXPECT_EQ(queue().running, 0);
  EXPECT_EQ(ids_in({.kind = ListKind::kFinished, .limit = kMaxPage}).size(), kMaxBatch);
}

}  // namespace
}  // namespace horae::testing
