// Tokens that serve one claim for good, however often it is repeated.

#include <algorithm>

#include "tests/store_contract/contract.h"

namespace horae::testing {

ClaimWish Once::once(int max, std::vector<std::string> queues) {
  ClaimWish repeatable = wish(max, kOwner, std::move(queues));
  repeatable.once = true;
  return repeatable;
}

bool Once::has_served(const ClaimWish& wish) { return value_of(tasks().have_served(std::vector{wish.token})).at(0); }

namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_P(Once, ARepetitionGetsTheSameTasksAndNoOthers) {
  (void)submit_many(5);
  const ClaimWish mine = once(2);
  const auto first = value_of(tasks().claim(std::vector{mine}));
  ASSERT_THAT(first.at(0).tasks, SizeIs(2));
  EXPECT_EQ(value_of(tasks().claim(std::vector{mine})).at(0),
            (ClaimOutcome{ClaimOutcome::Kind::kRepeated, first.at(0).tasks}));
  EXPECT_EQ(queue().running, 2);
  EXPECT_EQ(get(first[0].tasks[0].id).attempt, 1);
}

TEST_P(Once, ARepetitionGetsThemByNumber) {
  const TaskId low = submit({.priority = 1});
  const TaskId high = submit({.priority = 2});
  const ClaimWish mine = once(2);
  EXPECT_THAT(ids_of(claim(mine)), ElementsAre(high, low));
  EXPECT_THAT(ids_of(claim(mine)), ElementsAre(low, high));
}

TEST_P(Once, ARepetitionTellsHowTheLeaseStandsNow) {
  (void)submit({.priority = 77, .spec = R"({"a":1})"});
  const ClaimWish mine = once();
  const Lease lease = claim(mine).at(0);
  advance(5s);
  Settlement beat = settlement(Event::kHeartbeat, lease);
  beat.checkpoint = "7";
  (void)settle(beat);
  const Lease again = claim(mine).at(0);
  EXPECT_EQ(again.id, lease.id);
  EXPECT_EQ(again.number, lease.number);
  EXPECT_EQ(again.queue, kQueue);
  EXPECT_EQ(again.priority, 77);
  EXPECT_EQ(again.spec, R"({"a":1})");
  EXPECT_EQ(again.attempt, 1);
  EXPECT_EQ(again.checkpoint, "7");
  EXPECT_EQ(again.lease_expires, now() + 10s);
  EXPECT_EQ(complete(again), Verdict::kAccepted);
}

TEST_P(Once, ARepetitionGetsOnlyWhatIsStillLeased) {
  (void)submit_many(4);
  const ClaimWish mine = once(3);
  const auto leases = claim(mine);
  (void)complete(leases[0]);
  (void)yield(leases[1]);
  EXPECT_THAT(ids_of(claim(mine)), ElementsAre(leases[2].id));
}

TEST_P(Once, WhenNothingIsLeasedAnyMoreARepetitionGetsNothing) {
  (void)submit_many(3);
  const ClaimWish mine = once();
  (void)complete(claim(mine).at(0));
  EXPECT_THAT(claim(mine), IsEmpty());
  const ClaimWish lost = once();
  EXPECT_THAT(claim(lost), SizeIs(1));
  (void)lose_leases();
  EXPECT_THAT(claim(lost), IsEmpty()) << "not the task that expired either";
  EXPECT_EQ(queue().ready, 2);
}

TEST_P(Once, ANewAttemptAtATaskOfTheTokenIsNotItsOwn) {
  (void)submit();
  const ClaimWish mine = once();
  (void)yield(claim(mine).at(0));
  (void)claim("worker-2");
  EXPECT_THAT(claim(mine), IsEmpty());
}

TEST_P(Once, AClaimThatFindsNothingLeavesNoTrace) {
  const ClaimWish mine = once();
  for (int i = 0; i < 3; ++i) EXPECT_THAT(claim(mine), IsEmpty());
  EXPECT_FALSE(has_served(mine));
  const TaskId id = submit();
  EXPECT_THAT(ids_of(claim(mine)), ElementsAre(id));
}

TEST_P(Once, TellsWhichTokensHaveServed) {
  (void)submit_many(2);
  const ClaimWish held = once();
  (void)claim(held);
  const ClaimWish ended = once();
  (void)complete(claim(ended).at(0));
  const ClaimWish ordinary = wish();
  (void)submit();
  (void)claim(ordinary);
  const std::vector tokens = {new_id(), held.token, ordinary.token, ended.token, held.token};
  EXPECT_THAT(value_of(tasks().have_served(tokens)), ElementsAre(false, true, false, true, true));
  EXPECT_THAT(value_of(tasks().have_served({})), IsEmpty());
  EXPECT_EQ(code_of(tasks().have_served(std::vector<Uuid>(kMaxBatch + 1))), ErrorCode::kRefused);
}

TEST_P(Once, ATokenThatHoldsTasksOfAnotherOwnerIsRefused) {
  const auto ids = submit_many(2);
  const ClaimWish mine = once();
  (void)claim(mine);
  ClaimWish foreign = mine;
  foreign.owner = "worker-2";
  const auto refused = value_of(tasks().claim(std::vector{foreign, wish(1, "worker-2"), mine}));
  EXPECT_EQ(refused.at(0), (ClaimOutcome{ClaimOutcome::Kind::kOtherOwner, {}}));
  EXPECT_THAT(ids_of(refused.at(1).tasks), ElementsAre(ids[1])) << "the other wishes of the batch get theirs";
  EXPECT_EQ(refused.at(2).kind, ClaimOutcome::Kind::kRepeated);
  EXPECT_THAT(ids_of(refused.at(2).tasks), ElementsAre(ids[0]));
  EXPECT_EQ(get(ids[0]).owner, kOwner);
}

TEST_P(Once, InOneBatchTheTokenOfAnEarlierWishOfAnotherOwnerIsRefused) {
  (void)submit_many(2);
  const ClaimWish mine = once();
  ClaimWish foreign = mine;
  foreign.owner = "worker-2";
  const auto taken = value_of(tasks().claim(std::vector{mine, foreign}));
  EXPECT_THAT(taken.at(0).tasks, SizeIs(1));
  EXPECT_EQ(taken.at(1), (ClaimOutcome{ClaimOutcome::Kind::kOtherOwner, {}}));
  EXPECT_EQ(queue().running, 1);
}

TEST_P(Once, AnOutcomeSaysWhetherItsTasksAreNew) {
  (void)submit();
  const ClaimWish mine = once();
  EXPECT_EQ(value_of(tasks().claim(std::vector{mine})).at(0).kind, ClaimOutcome::Kind::kNew);
  const auto again = value_of(tasks().claim(std::vector{mine, once()}));
  EXPECT_EQ(again.at(0).kind, ClaimOutcome::Kind::kRepeated);
  EXPECT_EQ(again.at(1).kind, ClaimOutcome::Kind::kNew) << "it found nothing";
  (void)complete({again.at(0).tasks.at(0), kOwner});
  EXPECT_EQ(value_of(tasks().claim(std::vector{mine})).at(0), (ClaimOutcome{ClaimOutcome::Kind::kRepeated, {}}));
}

TEST_P(Once, WhatIsHeldIsGivenWhateverTheRepetitionNames) {
  const auto ids = submit_many(2);
  ClaimWish mine = once(2);
  (void)claim(mine);
  mine.max = 1;
  mine.queues = {"unknown"};
  EXPECT_THAT(ids_of(claim(mine)), ElementsAreArray(ids));
}

TEST_P(Once, WhatIsHeldIsGivenAlsoFromAPausedQueueAndByAStoppedScheduler) {
  const auto ids = submit_many(2);
  const ClaimWish mine = once();
  (void)claim(mine);
  configure(kQueue, {.paused = true});
  EXPECT_THAT(ids_of(claim(mine)), ElementsAre(ids[0]));
  EXPECT_THAT(claim(once()), IsEmpty());
  configure(kQueue, {.paused = false});
  (void)value_of(queues().set_scheduler_running(false));
  EXPECT_THAT(ids_of(claim(mine)), ElementsAre(ids[0]));
  EXPECT_THAT(claim(once()), IsEmpty());
}

TEST_P(Once, InOneBatchALaterWishGetsWhatTheEarlierOneGot) {
  const TaskId low = submit({.priority = 1});
  const TaskId high = submit({.priority = 2});
  (void)submit({.priority = 0});
  const ClaimWish mine = once(2);
  const auto taken = value_of(tasks().claim(std::vector{mine, wish(1, "worker-2"), mine}));
  EXPECT_THAT(ids_of(taken.at(0).tasks), ElementsAre(high, low));
  EXPECT_THAT(taken.at(1).tasks, SizeIs(1));
  EXPECT_THAT(ids_of(taken.at(2).tasks), ElementsAre(low, high));
  EXPECT_EQ(queue().running, 3);
}

TEST_P(Once, InOneBatchALaterWishMayFindWhatTheEarlierOneDidNot) {
  const TaskId id = submit({.queue = "b"});
  ClaimWish first = once(1, {"a"});
  ClaimWish second = first;
  second.queues = {"b"};
  const auto taken = value_of(tasks().claim(std::vector{first, second, second}));
  EXPECT_THAT(taken.at(0).tasks, IsEmpty());
  EXPECT_THAT(ids_of(taken.at(1).tasks), ElementsAre(id));
  EXPECT_EQ(taken.at(2).tasks, taken.at(1).tasks);
}

TEST_P(Once, RepetitionsAndNewClaimsMixInOneBatch) {
  (void)submit_many(4);
  const ClaimWish old = once();
  const auto held = ids_of(claim(old));
  const auto taken = value_of(tasks().claim(std::vector{once(), old, wish(), once(3)}));
  EXPECT_THAT(taken.at(0).tasks, SizeIs(1));
  EXPECT_EQ(ids_of(taken.at(1).tasks), held);
  EXPECT_THAT(taken.at(2).tasks, SizeIs(1));
  EXPECT_THAT(taken.at(3).tasks, SizeIs(1));
}

TEST_P(Once, ATokenIsKnownForADayAfterItsClaim) {
  (void)submit();
  const ClaimWish mine = once();
  (void)complete(claim(mine).at(0));
  (void)submit();
  advance(kTokenMemory);
  (void)purge();
  EXPECT_TRUE(has_served(mine));
  EXPECT_THAT(claim(mine), IsEmpty());
  advance(1us);
  EXPECT_EQ(purge().purged, 0U);
  EXPECT_FALSE(has_served(mine));
  EXPECT_THAT(claim(mine), SizeIs(1));
}

TEST_P(Once, ATokenIsKnownAsLongAsSomethingIsLeasedUnderIt) {
  (void)submit_many(2);
  const ClaimWish mine = once();
  const Lease lease = claim(mine).at(0);
  advance(kTokenMemory * 3);
  (void)purge();
  EXPECT_THAT(ids_of(claim(mine)), ElementsAre(lease.id));
  (void)complete(lease);
  EXPECT_FALSE(purge().more);
  EXPECT_FALSE(has_served(mine));
}

TEST_P(Once, APurgeForgetsNoMoreTokensThanItMayAndSaysThatThereAreMore) {
  (void)submit_many(3);
  std::vector<Uuid> tokens;
  for (int i = 0; i < 3; ++i) {
    const ClaimWish mine = once();
    tokens.push_back(mine.token);
    (void)complete(claim(mine).at(0));
  }
  advance(kTokenMemory + 1us);
  const auto known = [&] { return std::ranges::count(value_of(tasks().have_served(tokens)), true); };
  EXPECT_TRUE(purge(1).more);
  EXPECT_EQ(known(), 2);
  EXPECT_FALSE(purge(2).more);
  EXPECT_EQ(known(), 0);
}

TEST_P(Once, ManyAtOnceUnderOneTokenGetTheSameTasks) {
  for (int round = 0; round < 5; ++round) {
    (void)submit_many(20);
    const ClaimWish mine = once(3);
    std::vector<std::vector<TaskId>> got(4);
    together(4, [&](int i) {
      auto ids = ids_of(value_of(tasks().claim(std::vector{mine})).at(0).tasks);
      std::ranges::sort(ids);
      got[static_cast<std::size_t>(i)] = std::move(ids);
    });
    EXPECT_THAT(got[0], SizeIs(3));
    for (const auto& each : got) EXPECT_EQ(each, got[0]);
  }
  EXPECT_EQ(queue().running, 15);
}

TEST_P(Once, ATokenIsKnownAfterARestart) {
  (void)submit_many(2);
  const ClaimWish mine = once();
  const Lease lease = claim(mine).at(0);
  if (!reopen()) return;
  EXPECT_THAT(ids_of(claim(mine)), ElementsAre(lease.id));
  (void)complete(lease);
  EXPECT_THAT(claim(mine), IsEmpty());
}

}  // namespace
}  // namespace horae::testing
