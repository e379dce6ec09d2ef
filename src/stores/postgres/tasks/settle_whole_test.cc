#include "stores/postgres/tasks/settle_whole.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stores/postgres/layout/places.h"

namespace horae::postgres {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

TaskId id_of(std::int64_t number) { return Uuid{{1, static_cast<std::uint8_t>(number)}}; }

// Worker 1 holds the tasks 10 to 12 in one lease and 13 to 14 in another.
class WholeLeases : public ::testing::Test {
 protected:
  WholeLeases() {
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
    known_.remember_lease({{10, 12}, 2, "worker-1"});
    known_.remember_lease({{13, 14}, 2, "worker-1"});
  }

  auto found() { return whole_leases(batch_, known_); }

  KnownTasks known_;
  std::vector<Settlement> batch_;
};

TEST_F(WholeLeases, AreFoundInABatchThatCompletesAllTheirTasks) {
  const auto leases = found();
  ASSERT_TRUE(leases);
  ASSERT_EQ(leases->size(), 2U);
  EXPECT_EQ((*leases)[0].range, (Range{10, 12}));
  EXPECT_EQ((*leases)[0].attempt, 2);
  EXPECT_EQ((*leases)[0].owner, "worker-1");
  EXPECT_THAT((*leases)[0].results, Optional(ElementsAre("10", "11", "12")));
  EXPECT_EQ((*leases)[1].range, (Range{13, 14}));
  EXPECT_THAT((*leases)[1].results, Optional(ElementsAre("13", "14")));
}

TEST_F(WholeLeases, MayComeInAnyOrder) {
  std::ranges::reverse(batch_);
  const auto leases = found();
  ASSERT_TRUE(leases);
  EXPECT_EQ((*leases)[0].range, (Range{10, 12}));
  EXPECT_THAT((*leases)[0].results, Optional(ElementsAre("10", "11", "12")));
}

TEST_F(WholeLeases, NeedNoResults) {
  for (Settlement& said : batch_) {
    if (said.number != 14) said.result.reset();
  }
  const auto leases = found();
  ASSERT_TRUE(leases);
  EXPECT_FALSE((*leases)[0].results);
  EXPECT_THAT((*leases)[1].results, Optional(ElementsAre(std::nullopt, Optional(std::string_view("14")))));
}

TEST_F(WholeLeases, MayBelongToSeveralOwners) {
  known_.remember_lease({{13, 14}, 2, "worker-2"});
  batch_[3].owner = batch_[4].owner = "worker-2";
  EXPECT_TRUE(found());
}

// ---- What takes the general path ----

TEST_F(WholeLeases, AreNotFoundWhereATaskIsMissing) {
  for (const std::size_t missing : {0U, 1U, 2U, 3U, 4U}) {
    const Settlement taken = batch_[missing];
    batch_.erase(batch_.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_FALSE(found()) << missing;
    batch_.insert(batch_.begin() + static_cast<std::ptrdiff_t>(missing), taken);
  }
  EXPECT_TRUE(found());
}

TEST_F(WholeLeases, AreNotFoundWhereATaskOfTheNextOneStandsInForAMissingOne) {
  batch_.erase(batch_.begin());
  batch_.pop_back();
  EXPECT_FALSE(found());
}

TEST_F(WholeLeases, AreNotFoundWhereATaskIsNamedTwice) {
  batch_.push_back(batch_[1]);
  EXPECT_FALSE(found());
  batch_.erase(batch_.begin() + 2);  // as many as the lease has, but not all of them
  EXPECT_FALSE(found());
}

TEST_F(WholeLeases, AreNotFoundWhereALeaseOfOneTaskIsNamedTwice) {
  const std::vector<LeasedTask> single = {{.id = id_of(20), .number = 20, .attempt = 2}};
  known_.remember_ids(single);
  known_.remember_lease({{20, 20}, 2, "worker-1"});
  batch_.push_back({.event = Event::kComplete, .id = id_of(20), .number = 20, .attempt = 2, .owner = "worker-1"});
  EXPECT_TRUE(found());
  batch_.push_back(batch_.back());
  EXPECT_FALSE(found());
}

TEST_F(WholeLeases, AreNotFoundForOwnersThatDoNotHoldThem) {
  for (Settlement& said : batch_) said.owner = "unknown";
  EXPECT_FALSE(found());
  for (Settlement& said : batch_) said.owner = "worker-1";
  EXPECT_TRUE(found()) << "the lease is not forgotten";
}

TEST_F(WholeLeases, AreNotFoundAmongOtherEvents) {
  for (const Event event : {Event::kHeartbeat, Event::kAbort, Event::kYield, Event::kRelease}) {
    batch_[1].event = event;
    EXPECT_FALSE(found()) << static_cast<int>(event);
  }
}

TEST_F(WholeLeases, AreNotFoundWhereAResultNeedsARowOfItsOwn) {
  batch_[1].result = std::string(kMostResultBytesInARange, '1');
  EXPECT_TRUE(found());
  batch_[1].result->push_back('1');
  EXPECT_FALSE(found());
}

TEST_F(WholeLeases, AreNotFoundForAnotherAttempt) {
  batch_[1].attempt = 1;
  EXPECT_FALSE(found());
}

TEST_F(WholeLeases, AreNotFoundWhereTheOwnersOfOneLeaseDiffer) {
  batch_[1].owner = "worker-2";
  EXPECT_FALSE(found());
}

TEST_F(WholeLeases, AreNotFoundWithoutNumbers) {
  batch_[1].number = 0;
  EXPECT_FALSE(found());
}

TEST_F(WholeLeases, AreNotFoundWhereANumberIsThatOfAnotherId) {
  batch_[1].id = id_of(99);
  EXPECT_FALSE(found());
}

TEST_F(WholeLeases, AreNotFoundOnANodeThatDidNotGiveThem) {
  const std::vector<LeasedTask> other = {{.id = id_of(20), .number = 20, .attempt = 2}};
  known_.remember_ids(other);
  batch_.push_back({.event = Event::kComplete, .id = id_of(20), .number = 20, .attempt = 2, .owner = "worker-1"});
  EXPECT_FALSE(found());
}

}  // namespace
}  // namespace horae::postgres
