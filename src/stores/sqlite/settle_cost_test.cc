// What refused settlements cost, counted in statements: no more than accepted ones.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "stores/sqlite/claim.h"
#include "stores/sqlite/effects.h"
#include "stores/sqlite/life.h"
#include "stores/sqlite/migrations.h"
#include "stores/sqlite/settle.h"
#include "stores/sqlite/submit.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {
namespace {

using ::testing::Each;
using ::testing::Field;

constexpr int kMany = 1000;

std::shared_ptr<Connection> connect() {
  auto connection = std::make_shared<Connection>();
  connection->database = std::move(Database::open(":memory:", false)).value();
  (void)migrate_database(*connection->database, false).value();
  return connection;
}

class SettleCost : public ::testing::Test {
 protected:
  SettleCost() {
    sqlite3_trace_v2(
        connection_->database->handle(), SQLITE_TRACE_STMT,
        [](unsigned, void* count, void*, void*) { return ++*static_cast<int*>(count), 0; }, &statements_);
  }

  // Tasks that run, each for an owner of its own.
  std::vector<Settlement> completions(int count) {
    std::vector<Submission> submissions;
    std::vector<ClaimWish> wishes;
    for (int i = 0; i < count; ++i) {
      submissions.push_back({.task = {.queue = "work", .spec = "{}"}, .new_id = ids_.next()});
      wishes.push_back({.owner = fmt::format("worker-{}", i), .queues = {"work"}, .max = 1, .token = ids_.next()});
    }
    (void)run<std::vector<SubmitOutcome>>([&](Change& change) { return submitter_.submit(submissions, change); });
    const auto leased = run<std::vector<ClaimOutcome>>([&](Change& change) { return claimer_.claim(wishes, change); });
    std::vector<Settlement> all;
    for (int i = 0; i < count; ++i) {
      const LeasedTask& task = leased.at(static_cast<std::size_t>(i)).tasks.at(0);
      all.push_back({.event = Event::kComplete,
                     .id = task.id,
                     .attempt = task.attempt,
                     .owner = wishes[static_cast<std::size_t>(i)].owner,
                     .result = "{}"});
    }
    return all;
  }

  static std::vector<Settlement> by_strangers(std::vector<Settlement> all) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].owner = fmt::format("unknown-{}", i);
    return all;
  }

  // The number of statements that the settlements cost.
  int cost_of(const std::vector<Settlement>& all, Verdict expected) {
    const int before = statements_;
    const auto outcomes = run<std::vector<SettleOutcome>>([&](Change& change) { return settler_.settle(all, change); });
    EXPECT_THAT(outcomes, Each(Field(&SettleOutcome::verdict, expected)));
    return statements_ - before;
  }

  int rows_of_trail() {
    Statement count(*connection_->database, "select count(*) from trail");
    const int rows = count.start().next() ? count.small(0) : -1;
    count.finish();
    return rows;
  }

  int omitted() {
    Statement sum(*connection_->database, "select sum(trail_omitted) from life");
    const int count = sum.start().next() ? sum.small(0) : -1;
    sum.finish();
    return count;
  }

 private:
  template <typename T, typename Body>
  T run(Body body) {
    return writer_.transact<T>(body).value();
  }

  SystemClock clock_;
  SeededRandom random_{1};
  UuidSource ids_{clock_, random_};
  int statements_ = 0;
  std::shared_ptr<Connection> connection_ = connect();
  Writer writer_{connection_, clock_, kMaxQueues};
  Lives lives_{writer_};
  Submitter submitter_{writer_};
  Claimer claimer_{writer_};
  Effects effects_{writer_, lives_};
  Settler settler_{lives_, effects_};
};

TEST_F(SettleCost, ResultsOfStrangersCostNoMoreThanThoseOfOwners) {
  const int accepted = cost_of(completions(kMany), Verdict::kAccepted);
  const auto running = completions(kMany);
  EXPECT_LE(cost_of(by_strangers(running), Verdict::kStaleAttempt), accepted);
  EXPECT_EQ(rows_of_trail(), kMany) << "each is kept";
}

TEST_F(SettleCost, ResultsForCompletedTasksCostNoMoreThanTheCompletions) {
  const auto all = completions(kMany);
  const int accepted = cost_of(all, Verdict::kAccepted);
  EXPECT_LE(cost_of(by_strangers(all), Verdict::kWrongState), accepted);
  EXPECT_EQ(rows_of_trail(), kMany);
}

TEST_F(SettleCost, AThousandStrangersOfOneTaskWriteNoMoreThanItsHistoryKeeps) {
  const int accepted = cost_of(completions(kMany), Verdict::kAccepted);
  auto late = completions(1);
  late.resize(kMany, late.front());
  EXPECT_LE(cost_of(by_strangers(late), Verdict::kStaleAttempt), accepted);
  EXPECT_EQ(rows_of_trail(), static_cast<int>(kMaxHistory));
  EXPECT_EQ(omitted(), kMany - static_cast<int>(kMaxHistory));
  late.resize(200);
  for (std::size_t i = 0; i < late.size(); ++i) late[i].owner = fmt::format("newer-{}", i);
  (void)cost_of(late, Verdict::kStaleAttempt);
  EXPECT_EQ(rows_of_trail(), static_cast<int>(kMaxHistory));
  EXPECT_EQ(omitted(), kMany + 200 - static_cast<int>(kMaxHistory));
}

}  // namespace
}  // namespace horae::sqlite
