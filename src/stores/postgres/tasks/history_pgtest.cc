#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "stores/postgres/postgres_store.h"
#include "stores/postgres/test_database.h"

namespace horae::postgres {
namespace {

class HistoryTest : public TestDatabase {};

TEST_F(HistoryTest, IsKeptBoundedAndCountsWhatItDropped) {
  constexpr int kYields = 600;
  const auto store =
      std::move(open_postgres_store(url(), {.allow_unsafe = {"fsync", "full_page_writes", "synchronous_commit"}}))
          .value();
  SystemClock clock;
  SystemRandom random;
  UuidSource ids(clock, random);
  const std::vector<Submission> submissions = {{.task = {.queue = "q", .spec = "{}"}, .new_id = ids.next()}};
  ASSERT_TRUE(store->tasks().submit(submissions).ok());
  for (int i = 1; i <= kYields; ++i) {
    const std::vector<ClaimWish> wishes = {{.owner = "worker-1", .queues = {"q"}, .token = ids.next()}};
    const LeasedTask leased = store->tasks().claim(wishes).value().at(0).tasks.at(0);
    ASSERT_EQ(leased.attempt, i);
    const std::vector<Settlement> yield = {
        {.event = Event::kYield, .id = leased.id, .number = leased.number, .attempt = i, .owner = "worker-1"}};
    ASSERT_EQ(store->tasks().settle(yield).value().at(0).verdict, Verdict::kAccepted);
  }
  const std::vector<TaskId> wanted = {submissions[0].new_id};
  const Task task = store->tasks().get(wanted).value().at(0).value();
  ASSERT_EQ(task.history.entries().size(), kMaxHistory);
  EXPECT_EQ(task.history.omitted(), 2 * kYields - kMaxHistory);  // an assignment and a yield each
  EXPECT_EQ(task.history.entries().front().attempt, 1);
  EXPECT_EQ(task.history.entries()[kHistoryFirst - 1].attempt, 8);
  EXPECT_EQ(task.history.entries().back().attempt, kYields);
  EXPECT_LT(std::stoi(ask("select count(*) from trail")), 300);
}

}  // namespace
}  // namespace horae::postgres
