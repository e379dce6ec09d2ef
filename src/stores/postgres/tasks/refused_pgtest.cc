// What refused settlements cost: as many round trips for a thousand as for one, and a history that stays bounded.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "stores/postgres/migrations.h"
#include "stores/postgres/tasks/claim.h"
#include "stores/postgres/tasks/reader.h"
#include "stores/postgres/tasks/settle.h"
#include "stores/postgres/tasks/submit.h"
#include "stores/postgres/test_database.h"

namespace horae::postgres {
namespace {

using ::testing::Each;
using ::testing::Field;

constexpr int kStrangers = 1000;

class Refused : public TestDatabase {
 protected:
  Refused() { (void)migrate_database(*connect(), false).value(); }

  // Tasks that run for worker-1.
  std::vector<Settlement> completions(int count) {
    std::vector<Submission> submissions;
    for (int i = 0; i < count; ++i) {
      submissions.push_back({.task = {.queue = "work", .spec = "{}"}, .new_id = ids_.next()});
    }
    (void)submitter_.submit(submissions).value();
    const ClaimWish wish{.owner = "worker-1", .queues = {"work"}, .max = count, .token = ids_.next()};
    const auto leased = claimer_.claim({&wish, 1}).value();
    std::vector<Settlement> all;
    for (const LeasedTask& task : leased.at(0).tasks) {
      all.push_back({.event = Event::kComplete,
                     .id = task.id,
                     .number = task.number,
                     .attempt = task.attempt,
                     .owner = "worker-1",
                     .result = "{}"});
    }
    EXPECT_EQ(static_cast<int>(all.size()), count);
    return all;
  }

  static std::vector<Settlement> by_strangers(std::vector<Settlement> all, const std::string& name = "unknown") {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].owner = fmt::format("{}-{}", name, i);
    return all;
  }

  // The round trips of a call.
  std::uint64_t trips_of(const std::vector<Settlement>& all, Verdict expected) {
    const auto trips = [&] {
      return pool_.with_connection<std::uint64_t>([](Connection& each) { return Result(each.round_trips()); }).value();
    };
    const std::uint64_t before = trips();
    EXPECT_THAT(settler_.settle(all).value(), Each(Field(&SettleOutcome::verdict, expected)));
    return trips() - before;
  }

  Pool pool_{url(), 1};
  SystemClock clock_;
  QueueNames names_{pool_};
  Days days_{pool_};
  Floors floors_{clock_};
  KnownTasks known_;
  Submitter submitter_{pool_, names_, days_, floors_, known_};
  Claimer claimer_{pool_, names_, floors_, known_};
  Settler settler_{pool_, names_, floors_, known_};
  SeededRandom random_{1};
  UuidSource ids_{clock_, random_};
};

TEST_F(Refused, ResultsOfStrangersTakeThreeTripsHoweverManyTheyAre) {
  EXPECT_EQ(trips_of(by_strangers(completions(1)), Verdict::kStaleAttempt), 3U);
  EXPECT_EQ(trips_of(by_strangers(completions(kStrangers)), Verdict::kStaleAttempt), 3U);
  EXPECT_EQ(ask("select count(*) from trail where kind = 4"), std::to_string(kStrangers + 1)) << "each is kept";
}

TEST_F(Refused, ResultsForCompletedTasksTakeFour) {
  for (const int count : {1, kStrangers}) {
    const auto all = completions(count);
    (void)trips_of(all, Verdict::kAccepted);
    EXPECT_EQ(trips_of(by_strangers(all), Verdict::kWrongState), 4U);
  }
  EXPECT_EQ(ask("select count(*) from trail where kind = 4"), std::to_string(kStrangers + 1));
}

TEST_F(Refused, AThousandStrangersOfOneTaskLeaveABoundedHistoryThatCountsThemAll) {
  constexpr int kCalls = 3;
  auto late = completions(1);
  const TaskId id = late.front().id;
  late.resize(kStrangers, late.front());
  for (int call = 0; call < kCalls; ++call) {
    EXPECT_EQ(trips_of(by_strangers(late, fmt::format("call-{}", call)), Verdict::kStaleAttempt), 3U);
    EXPECT_LE(std::stoul(ask("select count(*) from trail")), kMaxHistory + 1) << "with the row that counts the rest";
  }
  const std::vector<TaskId> wanted = {id};
  const Task task = Reader(pool_).get(wanted).value().at(0).value();
  ASSERT_EQ(task.history.entries().size(), kMaxHistory);
  EXPECT_EQ(task.history.omitted(), 1 + kCalls * kStrangers - kMaxHistory) << "with the assignment";
  EXPECT_EQ(task.history.entries()[0].kind, HistoryKind::kAssignment);
  EXPECT_EQ(task.history.entries()[kHistoryFirst - 1].worker, fmt::format("call-0-{}", kHistoryFirst - 2));
  EXPECT_EQ(task.history.entries().back().worker, fmt::format("call-{}-{}", kCalls - 1, kStrangers - 1));
}

TEST_F(Refused, SingleCallsOfManyStrangersLeaveABoundedHistoryToo) {
  const Settlement late = completions(1).front();
  for (int i = 0; i < 600; ++i) (void)trips_of(by_strangers({late}, fmt::format("call-{}", i)), Verdict::kStaleAttempt);
  EXPECT_LE(std::stoul(ask("select count(*) from trail")), 2 * kMaxHistory + 2);
}

}  // namespace
}  // namespace horae::postgres
