// A store of one connection, whose round trips tests count.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "stores/postgres/migrations.h"
#include "stores/postgres/tasks/claim.h"
#include "stores/postgres/tasks/exchange.h"
#include "stores/postgres/tasks/settle.h"
#include "stores/postgres/tasks/submit.h"
#include "stores/postgres/test_database.h"

namespace horae::postgres {

inline constexpr int kMany = 100;

struct CountedNode {
  explicit CountedNode(const std::string& url) : pool(url, 1) {}

  std::uint64_t round_trips() {
    return pool.with_connection<std::uint64_t>([](Connection& each) { return Result(each.round_trips()); }).value();
  }

  Pool pool;
  SystemClock clock;
  QueueNames names{pool};
  Days days{pool};
  Floors floors{clock};
  KnownTasks known;
  Submitter submitter{pool, names, days, floors, known};
  Claimer claimer{pool, names, floors, known};
  Settler settler{pool, names, floors, known};
  Exchanger exchanger{pool, names, settler, submitter, claimer, floors, known};
};

// Of each wish.
inline std::vector<std::vector<LeasedTask>> tasks_of(const std::vector<ClaimOutcome>& claimed) {
  std::vector<std::vector<LeasedTask>> all;
  for (const ClaimOutcome& outcome : claimed) all.push_back(outcome.tasks);
  return all;
}

class RoundTrips : public TestDatabase {
 protected:
  RoundTrips() {
    (void)migrate_database(*connect(), false).value();
    // The queues are known, numbers in stock, and something was found.
    for (const std::string queue : {"work", "other"}) {
      submit(1, {.queue = queue});
      settle(completions(claim(1, {queue})));
    }
    submit(1);
    settle(completions(claim(1)));
  }

  std::vector<Submission> submissions(int count, NewTask task = {}) {
    if (task.queue.empty()) task.queue = "work";
    std::vector<Submission> batch;
    for (int i = 0; i < count; ++i) {
      task.priority = i % 4;
      task.spec = std::to_string(i);
      batch.push_back({.task = task, .new_id = ids_.next()});
    }
    return batch;
  }

  std::vector<SubmitOutcome> submit(int count, const NewTask& task = {}) {
    return node_.submitter.submit(submissions(count, task)).value();
  }

  ClaimWish wish(int max, std::string owner = "worker-1") {
    return {.owner = std::move(owner), .queues = {"work"}, .max = max, .token = ids_.next()};
  }

  BundleOutcome exchange(const std::vector<Settlement>& settlements, const std::vector<Submission>& submissions,
                         const std::vector<ClaimWish>& wishes) {
    return node_.exchanger.exchange({.settlements = settlements, .submissions = submissions, .wishes = wishes}).value();
  }

  std::vector<LeasedTask> claim(int max, std::vector<std::string> queues = {"work"}) {
    const ClaimWish wish{.owner = "worker-1", .queues = std::move(queues), .max = max, .token = ids_.next()};
    return node_.claimer.claim({&wish, 1}).value().at(0).tasks;
  }

  std::vector<LeasedTask> submit_and_claim(int count, const NewTask& task = {}) {
    submit(count, task);
    auto leases = claim(count);
    EXPECT_THAT(leases, ::testing::SizeIs(static_cast<std::size_t>(count)));
    return leases;
  }

  static std::vector<Settlement> completions(const std::vector<LeasedTask>& leases) {
    std::vector<Settlement> batch;
    for (const LeasedTask& lease : leases) {
      batch.push_back({.event = Event::kComplete,
                       .id = lease.id,
                       .number = lease.number,
                       .attempt = lease.attempt,
                       .owner = "worker-1",
                       .result = "{}"});
    }
    return batch;
  }

  std::vector<SettleOutcome> settle(const std::vector<Settlement>& batch) {
    return node_.settler.settle(batch).value();
  }

  // Of `call`, on the way to the server and back.
  template <typename Call>
  std::uint64_t trips_of(Call call) {
    const std::uint64_t before = node_.round_trips();
    call();
    return node_.round_trips() - before;
  }

  void expect_accepted(const std::vector<SettleOutcome>& outcomes, std::size_t count) {
    EXPECT_THAT(outcomes, ::testing::SizeIs(count));
    EXPECT_THAT(outcomes, ::testing::Each(::testing::Field(&SettleOutcome::verdict, Verdict::kAccepted)));
    EXPECT_THAT(outcomes, ::testing::Each(::testing::Field(&SettleOutcome::state, State::kCompleted)));
  }

  std::string left() { return ask("select count(*) from running"); }
  std::string all_of(const std::string& table) {
    return ask("select coalesce(string_agg(t::text, '; ' order by t), '') from " + table + " as t");
  }

  CountedNode node_{url()};
  SystemClock clock_;
  SeededRandom random_{1};
  UuidSource ids_{clock_, random_};
};

}  // namespace horae::postgres
