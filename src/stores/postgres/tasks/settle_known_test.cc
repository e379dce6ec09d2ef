#include "stores/postgres/tasks/settle_known.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stores/postgres/layout/places.h"

namespace horae::postgres {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;
using std::literals::operator""s;

constexpr int kWork = 7;

TaskId id_of(std::int64_t number) { return Uuid{{1, static_cast<std::uint8_t>(number)}}; }

// Worker 1 holds the tasks 10 to 12 in one lease and 13 to 14 in another.
class KnownLeases : public ::testing::Test {
 protected:
  KnownLeases() {
    std::vector<LeasedTask> tasks;
    for (std::int64_t number = 10; number <= 14; ++number) {
      tasks.push_back({.id = id_of(number), .number = number, .attempt = 2});
      batch_.push_back({.event = Event::kComplete,
                        .id = id_of(number),
                        .number = number,
                        .attempt = 2,
                        .owner = "worker-1",
                        .result = std::to_string(number)});
    }
    known_.remember_ids(tasks);
    known_.remember_lease({{10, 12}, kWork, 2, "worker-1"});
    known_.remember_lease({{13, 14}, kWork, 2, "worker-1"});
  }

  auto changes() { return changes_of(batch_, known_, names_); }

  void leave_out(std::size_t place) { batch_.erase(batch_.begin() + static_cast<std::ptrdiff_t>(place)); }

  Pool pool_{"postgresql://nowhere.invalid", 1};
  QueueNames names_{pool_};
  KnownTasks known_;
  std::vector<Settlement> batch_;
};

TEST_F(KnownLeases, AreWholeInABatchThatCompletesAllTheirTasks) {
  const auto found = changes();
  ASSERT_TRUE(found);
  ASSERT_THAT(found->whole, SizeIs(2));
  EXPECT_EQ(found->whole[0].lease.range, (Range{10, 12}));
  EXPECT_EQ(found->whole[0].lease.attempt, 2);
  EXPECT_EQ(found->whole[0].lease.owner, "worker-1");
  EXPECT_THAT(found->whole[0].results, Optional(ElementsAre("10", "11", "12")));
  EXPECT_EQ(found->whole[1].lease.range, (Range{13, 14}));
  EXPECT_THAT(found->whole[1].results, Optional(ElementsAre("13", "14")));
  EXPECT_THAT(found->cut, IsEmpty());
  EXPECT_THAT(found->beaten, IsEmpty());
}

TEST_F(KnownLeases, MayComeInAnyOrder) {
  std::ranges::reverse(batch_);
  const auto found = changes();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->whole.at(0).lease.range, (Range{10, 12}));
  EXPECT_THAT(found->whole[0].results, Optional(ElementsAre("10", "11", "12")));
  EXPECT_THAT(found->numbers, ElementsAre(14, 13, 12, 11, 10));
}

// After some tasks of a lease were claimed again by another path, the other tasks are still remembered with the old lease.
TEST_F(KnownLeases, AreSettledByTheGeneralPathIfTwoBeginWithOneNumber) {
  known_.remember_lease({{10, 11}, kWork, 3, "worker-2"});
  batch_ = {{.event = Event::kComplete, .id = id_of(10), .number = 10, .attempt = 3, .owner = "worker-2"},
            {.event = Event::kComplete, .id = id_of(12), .number = 12, .attempt = 2, .owner = "worker-1"}};
  EXPECT_FALSE(changes());
}

TEST_F(KnownLeases, NeedNoResults) {
  for (Settlement& said : batch_) {
    if (said.number != 14) said.result.reset();
  }
  const auto found = changes();
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->whole.at(0).results);
  EXPECT_THAT(found->whole.at(1).results, Optional(ElementsAre(std::nullopt, Optional(std::string_view("14")))));
}

TEST_F(KnownLeases, MayBelongToSeveralOwners) {
  known_.remember_lease({{13, 14}, kWork, 2, "worker-2"});
  batch_[3].owner = batch_[4].owner = "worker-2";
  EXPECT_TRUE(changes());
}

TEST_F(KnownLeases, AreFoundByTheIdsOfTheirTasks) {
  for (Settlement& said : batch_) said.number = 0;
  const auto found = changes();
  ASSERT_TRUE(found);
  EXPECT_THAT(found->whole, SizeIs(2));
  EXPECT_THAT(found->numbers, ElementsAre(10, 11, 12, 13, 14));
}

TEST_F(KnownLeases, AreCutWhereATaskIsMissing) {
  leave_out(1);
  const auto found = changes();
  ASSERT_TRUE(found);
  ASSERT_THAT(found->cut, SizeIs(1));
  const auto& cut = found->cut[0];
  EXPECT_EQ(cut.lease.range, (Range{10, 12}));
  ASSERT_THAT(cut.done, SizeIs(2));
  EXPECT_EQ(cut.done[0].lease, 10);
  EXPECT_EQ(cut.done[0].range, (Range{10, 10}));
  EXPECT_EQ(cut.done[1].range, (Range{12, 12}));
  EXPECT_THAT(cut.done[1].results, Optional(ElementsAre("12")));
  ASSERT_THAT(cut.kept, SizeIs(1));
  EXPECT_EQ(cut.kept[0].range, (Range{11, 11}));
  EXPECT_FALSE(cut.kept[0].is_extended);
  EXPECT_THAT(found->whole, SizeIs(1));
}

TEST_F(KnownLeases, AreExtendedWholeByHeartbeatsOfAllTheirTasks) {
  for (Settlement& said : batch_) said.event = Event::kHeartbeat;
  batch_[1].progress = 0.5;
  const auto found = changes();
  ASSERT_TRUE(found);
  ASSERT_THAT(found->beaten, SizeIs(2));
  EXPECT_EQ(found->beaten[0].lease.range, (Range{10, 12}));
  EXPECT_FALSE(found->beaten[0].length);
  ASSERT_THAT(found->reports, SizeIs(1));
  EXPECT_EQ(found->reports[0].number, 11);
  EXPECT_EQ(found->reports[0].lease, 10);
  EXPECT_EQ(found->reports[0].progress, 0.5);
}

TEST_F(KnownLeases, AreCutWhereSomeTasksEndAndOthersGoOn) {
  batch_[0].event = batch_[1].event = Event::kHeartbeat;
  batch_[1].lease = std::chrono::hours(1);
  const auto found = changes();
  ASSERT_TRUE(found);
  ASSERT_THAT(found->cut, SizeIs(1));
  ASSERT_THAT(found->cut[0].kept, SizeIs(2));
  EXPECT_EQ(found->cut[0].kept[0].range, (Range{10, 10}));
  EXPECT_TRUE(found->cut[0].kept[0].is_extended);
  EXPECT_EQ(found->cut[0].kept[1].length, std::chrono::hours(1));
  ASSERT_THAT(found->cut[0].done, SizeIs(1));
  EXPECT_EQ(found->cut[0].done[0].range, (Range{12, 12}));
}

TEST_F(KnownLeases, AreCutWhereAResultNeedsARowOfItsOwn) {
  batch_[1].result = std::string(kMostResultBytesInARange, '1');
  EXPECT_THAT(changes()->whole, SizeIs(2));
  batch_[1].result->push_back('1');
  const auto found = changes();
  ASSERT_TRUE(found);
  ASSERT_THAT(found->cut, SizeIs(1));
  ASSERT_THAT(found->cut[0].done, SizeIs(3));
  EXPECT_EQ(found->cut[0].done[1].range, (Range{11, 11}));
  EXPECT_THAT(found->cut[0].kept, IsEmpty());
}

TEST_F(KnownLeases, OfOneTaskTakeAResultOfAnySize) {
  const std::vector<LeasedTask> single = {{.id = id_of(20), .number = 20, .attempt = 2}};
  known_.remember_ids(single);
  known_.remember_lease({{20, 20}, kWork, 2, "worker-1"});
  batch_ = {{.event = Event::kComplete,
             .id = id_of(20),
             .number = 20,
             .attempt = 2,
             .owner = "worker-1",
             .result = std::string(2 * kMostResultBytesInARange, '1')}};
  EXPECT_THAT(changes()->whole, SizeIs(1));
}

// ---- What takes the general path ----

TEST_F(KnownLeases, AreNotUsedWhereATaskIsNamedTwice) {
  batch_.push_back(batch_[1]);
  EXPECT_FALSE(changes());
  leave_out(2);  // as many as the lease has, but not all of them
  EXPECT_FALSE(changes());
}

TEST_F(KnownLeases, AreNotUsedForOwnersThatDoNotHoldThem) {
  for (Settlement& said : batch_) said.owner = "unknown";
  EXPECT_FALSE(changes());
  for (Settlement& said : batch_) said.owner = "worker-1";
  EXPECT_TRUE(changes()) << "the lease is not forgotten";
}

TEST_F(KnownLeases, AreNotUsedForOtherEvents) {
  for (const Event event : {Event::kAbort, Event::kYield, Event::kRelease}) {
    batch_[1].event = event;
    EXPECT_FALSE(changes()) << static_cast<int>(event);
  }
}

TEST_F(KnownLeases, AreNotUsedWhereAPartOfThemReportsProgress) {
  batch_[1].event = Event::kHeartbeat;
  batch_[1].checkpoint = "1"s;
  EXPECT_FALSE(changes());
}

TEST_F(KnownLeases, AreNotUsedForAnotherAttempt) {
  batch_[1].attempt = 1;
  EXPECT_FALSE(changes());
}

TEST_F(KnownLeases, AreNotUsedWhereTheOwnersOfOneLeaseDiffer) {
  batch_[1].owner = "worker-2";
  EXPECT_FALSE(changes());
}

TEST_F(KnownLeases, AreNotUsedWhereANumberIsThatOfAnotherId) {
  batch_[1].id = id_of(99);
  EXPECT_FALSE(changes());
}

TEST_F(KnownLeases, AreNotUsedOnANodeThatDidNotGiveThem) {
  const std::vector<LeasedTask> other = {{.id = id_of(20), .number = 20, .attempt = 2}};
  known_.remember_ids(other);
  batch_.push_back({.event = Event::kComplete, .id = id_of(20), .number = 20, .attempt = 2, .owner = "worker-1"});
  EXPECT_FALSE(changes());
}

}  // namespace
}  // namespace horae::postgres
