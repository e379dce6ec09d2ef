// In which order tasks are claimed, and what a lease says.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

TEST_P(Claim, NothingReadyGivesNothing) {
  EXPECT_THAT(claim_up_to(10), IsEmpty());
  (void)submit({.run_at = now() + 1h});
  EXPECT_THAT(claim_up_to(10), IsEmpty());
}

TEST_P(Claim, HandsOverTheTask) {
  const TaskId id = submit({.priority = 77, .spec = R"({"a":1})"});
  const Lease lease = claim("worker-7");
  EXPECT_EQ(lease.id, id);
  EXPECT_EQ(lease.number, get(id).number);
  EXPECT_EQ(lease.queue, kQueue);
  EXPECT_EQ(lease.priority, 77);
  EXPECT_EQ(lease.spec, R"({"a":1})");
  EXPECT_EQ(lease.attempt, 1);
  EXPECT_EQ(lease.checkpoint, std::nullopt);
  EXPECT_EQ(lease.lease_expires, now() + 10s);
}

TEST_P(Claim, TheTaskShowsItsOwner) {
  const TaskId id = submit();
  advance(3s);
  (void)claim("worker-7");
  const Task task = get(id);
  EXPECT_EQ(task.state, State::kRunning);
  EXPECT_EQ(task.owner, "worker-7");
  EXPECT_EQ(task.attempt, 1);
  EXPECT_EQ(task.started_at, now());
  EXPECT_EQ(task.updated_at, now());
  EXPECT_EQ(task.lease_expires, now() + 10s);
  EXPECT_THAT(task.history.entries(), ElementsAre(entry(HistoryKind::kAssignment, "worker-7", 1)));
  EXPECT_EQ(newest_entry_of(id).time, now());
}

TEST_P(Claim, TheLeaseIsAsLongAsAsked) {
  (void)submit_many(2);
  for (const Duration lease : {kMinLease, kMaxLease}) {
    ClaimWish with_length = wish();
    with_length.lease = lease;
    EXPECT_EQ(claim(with_length).at(0).lease_expires, now() + std::chrono::floor<std::chrono::microseconds>(lease));
  }
}

TEST_P(Claim, ATaskIsGivenOnce) {
  (void)submit();
  EXPECT_EQ(claim_up_to(10).size(), 1U);
  EXPECT_THAT(claim_up_to(10), IsEmpty());
}

TEST_P(Claim, GivesNoMoreThanAskedFor) {
  const auto ids = submit_many(5);
  EXPECT_THAT(ids_of(claim_up_to(3)), ElementsAre(ids[0], ids[1], ids[2]));
  EXPECT_THAT(ids_of(claim_up_to(3)), ElementsAre(ids[3], ids[4]));
}

TEST_P(Claim, EqualTasksComeFirstInFirstOut) {
  auto ids = submit_many(50);
  for (const TaskId& id : submit_many(50)) ids.push_back(id);
  EXPECT_THAT(ids_of(claim_up_to(100)), ElementsAreArray(ids));
}

TEST_P(Claim, TakesTheMostUrgentFirst) {
  const TaskId low = submit({.priority = 0});
  const TaskId high = submit({.priority = 255});
  const TaskId middle = submit({.priority = 50});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(high, middle, low));
}

TEST_P(Claim, ATaskGainsAPointForEachSecondThatItIsReady) {
  const TaskId old = submit({.priority = 50});
  advance(9s);
  const TaskId urgent = submit({.priority = 60});
  advance(2s);
  const TaskId late = submit({.priority = 60});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(urgent, old, late));
}

TEST_P(Claim, OfEqualRanksTheLongerReadyOneComesFirst) {
  const TaskId old = submit({.priority = 50});
  advance(10s);
  const TaskId young = submit({.priority = 60});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(old, young));
}

// The promoted one has the lower number, but has been ready for a shorter time.
TEST_P(Claim, OfEqualRanksTheReadySecondCountsBeforeTheNumber) {
  const TaskId promoted = submit({.priority = 60, .run_at = now() + 10s});
  const TaskId old = submit({.priority = 50});
  advance(10s);
  (void)promote();
  EXPECT_THAT(ids_in({.kind = ListKind::kReady}), ElementsAre(old, promoted));
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(old, promoted));
}

// The second counts, not the moment: within one second the number decides.
TEST_P(Claim, AgeingCountsWholeSeconds) {
  const TaskId first = submit({.priority = 50});
  advance(999ms);
  const TaskId second = submit({.priority = 51});
  advance(1ms);
  const TaskId third = submit({.priority = 51});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(second, first, third));
}

TEST_P(Claim, OnceTheBoundOfAgeingHasPassedNothingOvertakes) {
  const TaskId old = submit({.priority = 0});
  advance(254s);
  const TaskId urgent = submit({.priority = 255});
  advance(1s);
  (void)submit_many(20, {.priority = 255});
  EXPECT_THAT(ids_of(claim_up_to(2)), ElementsAre(urgent, old));
}

TEST_P(Claim, WithoutAgeingPrioritiesAreStrict) {
  configure(kQueue, {.ageing_rate = 0});
  const TaskId old = submit({.priority = 50});
  advance(1h);
  const TaskId urgent = submit({.priority = 51});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(urgent, old));
}

TEST_P(Claim, AFasterAgeingCountsFromItsChangeOn) {
  const TaskId old = submit({.priority = 50});
  advance(10s);
  configure(kQueue, {.ageing_rate = 10});
  advance(2s);  // the old one has gained 10 * 1 + 2 * 10
  const TaskId above = submit({.priority = 81});
  const TaskId below = submit({.priority = 79});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(above, old, below));
}

TEST_P(Claim, ASlowerAgeingTakesNothingBack) {
  configure(kQueue, {.ageing_rate = 100});
  const TaskId old = submit({.priority = 0});
  advance(2s);
  configure(kQueue, {.ageing_rate = 0});
  advance(1h);
  const TaskId above = submit({.priority = 201});
  const TaskId below = submit({.priority = 199});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(above, old, below));
}

TEST_P(Claim, ManyChangesOfTheRateAddUp) {
  const TaskId old = submit({.priority = 10});
  for (const std::int64_t rate : {3, 0, 5, 1}) {
    configure(kQueue, {.ageing_rate = rate});
    advance(10s);  // 30, 0, 50, 10
  }
  const TaskId above = submit({.priority = 101});
  const TaskId equal = submit({.priority = 100});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(above, old, equal));
}

TEST_P(Claim, AQueueAgesAlsoWhileItIsEmpty) {
  (void)submit();
  (void)complete(claim());
  advance(1h);
  const TaskId old = submit({.priority = 50});
  advance(5s);
  const TaskId young = submit({.priority = 54});
  EXPECT_THAT(ids_of(claim_up_to(10)), ElementsAre(old, young));
}

TEST_P(Claim, LooksOnlyIntoTheQueuesAskedFor) {
  const TaskId mine = submit({.queue = "mine"});
  (void)submit({.queue = "theirs"});
  EXPECT_THAT(ids_of(claim_up_to(10, kOwner, {"mine"})), ElementsAre(mine));
}

TEST_P(Claim, AQueueThatDoesNotExistIsEmptyAndIsNotMade) {
  const TaskId mine = submit({.queue = "mine"});
  EXPECT_THAT(ids_of(claim_up_to(10, kOwner, {"nowhere", "mine"})), ElementsAre(mine));
  EXPECT_FALSE(find_queue("nowhere"));
}

TEST_P(Claim, SeveralQueuesAreMergedByPriority) {
  const TaskId a1 = submit({.queue = "a", .priority = 10});
  const TaskId b1 = submit({.queue = "b", .priority = 30});
  const TaskId a2 = submit({.queue = "a", .priority = 20});
  const TaskId c1 = submit({.queue = "c", .priority = 20});
  EXPECT_THAT(ids_of(claim_up_to(10, kOwner, {"c", "b", "a"})), ElementsAre(b1, a2, c1, a1));
}

TEST_P(Claim, AcrossQueuesTheLongerReadyOneComesFirstAmongEquals) {
  configure("slow", {.ageing_rate = 0});
  configure("fast", {.ageing_rate = 10});
  const TaskId slow = submit({.queue = "slow", .priority = 100});
  advance(5s);
  const TaskId fast = submit({.queue = "fast", .priority = 50});
  advance(5s);  // now both count 100
  const TaskId third = submit({.queue = "third", .priority = 100});
  EXPECT_THAT(ids_of(claim_up_to(10, kOwner, {"third", "fast", "slow"})), ElementsAre(slow, fast, third));
}

TEST_P(Claim, AcrossQueuesTheEffectivePriorityDecidesNotTheRank) {
  configure("fast", {.ageing_rate = 1000});  // ranks of this queue are far from those of the other
  advance(10s);
  const TaskId fast = submit({.queue = "fast", .priority = 10});
  const TaskId plain = submit({.queue = "plain", .priority = 20});
  EXPECT_THAT(ids_of(claim_up_to(10, kOwner, {"fast", "plain"})), ElementsAre(plain, fast));
  const TaskId plain_again = submit({.queue = "plain", .priority = 20});
  const TaskId fast_again = submit({.queue = "fast", .priority = 10});
  advance(1s);
  EXPECT_THAT(ids_of(claim_up_to(10, kOwner, {"fast", "plain"})), ElementsAre(fast_again, plain_again));
}

TEST_P(Claim, SixteenQueuesAtOnce) {
  std::vector<std::string> names;
  std::vector<TaskId> ids;
  for (int i = 0; i < static_cast<int>(kMaxQueuesOfAClaim); ++i) {
    names.push_back("queue-" + std::to_string(i));
    ids.push_back(submit({.queue = names.back(), .priority = 200 - i}));
  }
  EXPECT_THAT(ids_of(claim_up_to(100, kOwner, names)), ElementsAreArray(ids));
}

TEST_P(Claim, SeveralWishesOfOneCallAreServedInTheirOrder) {
  const auto ids = submit_many(5);
  const auto taken =
      value_of(tasks().claim(std::vector{wish(2, "worker-1"), wish(2, "worker-2"), wish(2, "worker-3")}));
  EXPECT_THAT(ids_of(taken[0].tasks), ElementsAre(ids[0], ids[1]));
  EXPECT_THAT(ids_of(taken[1].tasks), ElementsAre(ids[2], ids[3]));
  EXPECT_THAT(ids_of(taken[2].tasks), ElementsAre(ids[4]));
  EXPECT_EQ(get(ids[3]).owner, "worker-2");
  EXPECT_EQ(get(ids[4]).owner, "worker-3");
}

TEST_P(Claim, AWishThatGetsNothingHasItsEmptyPlace) {
  const TaskId id = submit({.queue = "b"});
  const auto taken = value_of(tasks().claim(std::vector{wish(1, "worker-1", {"a"}), wish(1, "worker-2", {"b"})}));
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_THAT(taken[0].tasks, IsEmpty());
  EXPECT_THAT(ids_of(taken[1].tasks), ElementsAre(id));
}

// In each of these three, the rival would come first if the task got a new rank on its return.
TEST_P(Claim, AYieldedTaskKeepsItsPlace) {
  const Lease lease = start();
  advance(5s);
  const TaskId rival = submit({.priority = 52});
  (void)yield(lease);
  EXPECT_THAT(ids_of(claim_up_to(2)), ElementsAre(lease.id, rival));
}

TEST_P(Claim, AReleasedTaskKeepsItsPlace) {
  const Lease lease = start();
  advance(5s);
  const TaskId rival = submit({.priority = 52});
  (void)release(lease);
  EXPECT_THAT(ids_of(claim_up_to(2)), ElementsAre(lease.id, rival));
}

TEST_P(Claim, AnExpiredTaskKeepsItsPlace) {
  const Lease lease = start();
  (void)lose_leases();
  const TaskId rival = submit({.priority = 55});
  EXPECT_THAT(ids_of(claim_up_to(2)), ElementsAre(lease.id, rival));
}

TEST_P(Claim, ReturnedTasksKeepTheOrderAmongThemselves) {
  const auto ids = submit_many(3);
  const auto leases = claim_up_to(3);
  (void)yield(leases[2]);
  (void)release(leases[0]);
  (void)lose_leases();
  EXPECT_THAT(ids_of(claim_up_to(3)), ElementsAreArray(ids));
}

TEST_P(Claim, EachClaimIsANewAttempt) {
  Lease lease = start();
  for (int attempt = 2; attempt <= 5; ++attempt) {
    (void)(attempt % 2 == 0 ? yield(lease) : release(lease));
    lease = claim();
    EXPECT_EQ(lease.attempt, attempt);
  }
}

TEST_P(Claim, ATaskWithTheNilUuidIsDeliveredAgainAndAgain) {
  Lease lease = start({.id = Uuid{}, .spec = "[1]"});
  for (int attempt = 2; attempt <= 3; ++attempt) {
    (void)yield(lease);
    lease = claim();
    EXPECT_EQ(lease.id, Uuid{});
    EXPECT_EQ(lease.attempt, attempt);
    EXPECT_EQ(lease.spec, "[1]");
  }
  EXPECT_EQ(complete(lease), Verdict::kAccepted);
}

TEST_P(Claim, TheLeasesOfATokenAreTheTasksOfThatClaim) {
  const auto ids = submit_many(4);
  const ClaimWish mine = wish(2);
  const auto leases = claim(mine);
  (void)claim_up_to(1);
  const auto found = value_of(tasks().leases_of(mine.token));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], static_cast<const LeasedTask&>(leases[0]));
  EXPECT_EQ(found[1], static_cast<const LeasedTask&>(leases[1]));
}

TEST_P(Claim, TheLeasesOfATokenComeByNumber) {
  const TaskId low = submit({.priority = 1});
  const TaskId high = submit({.priority = 2});
  const ClaimWish mine = wish(2);
  EXPECT_THAT(ids_of(claim(mine)), ElementsAre(high, low));
  EXPECT_THAT(ids_of(value_of(tasks().leases_of(mine.token))), ElementsAre(low, high));
}

TEST_P(Claim, WhatWasSettledIsNoLongerALeaseOfItsToken) {
  (void)submit_many(6);
  const ClaimWish mine = wish(6);
  const auto leases = claim(mine);
  (void)complete(leases[0]);
  (void)abort(leases[1]);
  (void)yield(leases[2]);
  (void)release(leases[3]);
  (void)cancel(leases[4].id);
  Settlement beat = settlement(Event::kHeartbeat, leases[5]);
  beat.checkpoint = "7";
  (void)settle(beat);
  const auto left = value_of(tasks().leases_of(mine.token));
  ASSERT_THAT(ids_of(left), ElementsAre(leases[5].id));
  EXPECT_EQ(left[0].checkpoint, "7");
  (void)lose_leases();
  EXPECT_THAT(value_of(tasks().leases_of(mine.token)), IsEmpty());
}

TEST_P(Claim, AnotherAttemptBelongsToItsOwnToken) {
  (void)submit();
  const ClaimWish first = wish();
  (void)yield(claim(first).at(0));
  const ClaimWish second = wish();
  (void)claim(second);
  EXPECT_THAT(value_of(tasks().leases_of(first.token)), IsEmpty());
  EXPECT_EQ(value_of(tasks().leases_of(second.token)).at(0).attempt, 2);
}

TEST_P(Claim, AnUnknownTokenHasNoLeases) { EXPECT_THAT(value_of(tasks().leases_of(new_id())), IsEmpty()); }

TEST_P(Claim, ATaskNamesItsQueueAlsoIfOtherQueuesOfTheClaimDoNotExist) {
  (void)start();
  const TaskId id = submit();
  const auto leases = claim_up_to(1, kOwner, {"unknown", kQueue});
  ASSERT_THAT(ids_of(leases), ElementsAre(id));
  EXPECT_EQ(leases[0].queue, kQueue);
}

}  // namespace
}  // namespace horae::testing
