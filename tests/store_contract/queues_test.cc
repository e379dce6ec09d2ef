// Queues, their settings and counts, and worker ids.

#include <set>

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

TEST_P(Queues, AFreshStoreHasNone) { EXPECT_THAT(value_of(queues().queues()).queues, IsEmpty()); }

TEST_P(Queues, ComeByName) {
  for (const char* name : {"b", "a.2", "B", "a-1", "a"}) configure(name, {});
  std::vector<std::string> names;
  const QueueList list = value_of(queues().queues());
  for (const QueueInfo& info : list.queues) names.push_back(info.name);
  EXPECT_THAT(names, ElementsAre("B", "a", "a-1", "a.2", "b"));
}

TEST_P(Queues, ConfiguringMakesAQueueAndChangesOnlyWhatIsNamed) {
  QueueSettings expected;
  EXPECT_EQ(value_of(queues().configure("new", {})), expected);
  expected.paused = true;
  EXPECT_EQ(value_of(queues().configure("new", {.paused = true})), expected);
  expected.ageing_rate = 9;
  EXPECT_EQ(value_of(queues().configure("new", {.ageing_rate = 9})), expected);
  expected.retention = 1h;
  EXPECT_EQ(value_of(queues().configure("new", {.retention = 1h})), expected);
  EXPECT_EQ(value_of(queues().configure("new", {})), expected);
  EXPECT_EQ(queue("new").settings, expected);
}

TEST_P(Queues, SettingsOutOfRangeAreRefusedAndChangeNothing) {
  EXPECT_EQ(code_of(queues().configure("new", {.ageing_rate = -1})), ErrorCode::kRefused);
  EXPECT_EQ(code_of(queues().configure("new", {.ageing_rate = kMaxAgeingRate + 1})), ErrorCode::kRefused);
  EXPECT_EQ(code_of(queues().configure("new", {.paused = true, .retention = -1s})), ErrorCode::kRefused);
  EXPECT_EQ(code_of(queues().configure("new", {.retention = kMaxRetention + 1us})), ErrorCode::kRefused);
  EXPECT_EQ(code_of(queues().configure("not a name", {})), ErrorCode::kRefused);
  EXPECT_EQ(code_of(queues().configure("", {})), ErrorCode::kRefused);
  EXPECT_THAT(value_of(queues().queues()).queues, IsEmpty());
}

TEST_P(Queues, TheLimitsOfTheSettingsAreAllowed) {
  EXPECT_EQ(value_of(queues().configure("q", {.ageing_rate = kMaxAgeingRate, .retention = kMaxRetention})),
            (QueueSettings{.ageing_rate = kMaxAgeingRate, .retention = kMaxRetention}));
  EXPECT_EQ(value_of(queues().configure("q", {.ageing_rate = 0, .retention = 0s})),
            (QueueSettings{.ageing_rate = 0, .retention = Duration::zero()}));
}

TEST_P(Queues, TheLongestNameIsAName) {
  const std::string name(kMaxQueueNameLength, 'q');
  (void)submit({.queue = name});
  EXPECT_EQ(queue(name).ready, 1);
}

TEST_P(Queues, CountTheirLiveTasks) {
  (void)submit_many(3, {.run_at = now() + 1h});
  (void)submit_many(6);
  (void)claim_up_to(2);
  (void)submit({.queue = "other"});
  const QueueInfo info = queue();
  EXPECT_EQ(info.scheduled, 3);
  EXPECT_EQ(info.ready, 4);
  EXPECT_EQ(info.running, 2);
  EXPECT_EQ(queue("other").ready, 1);
}

TEST_P(Queues, LiveCountsFollowEveryEvent) {
  const auto expect = [&](std::int64_t scheduled, std::int64_t ready, std::int64_t running) {
    const QueueInfo info = queue();
    EXPECT_EQ(info.scheduled, scheduled);
    EXPECT_EQ(info.ready, ready);
    EXPECT_EQ(info.running, running);
  };
  (void)submit({.run_at = now() + 1s, .retry = {.kind = RetryPolicy::Kind::kFixed, .delay = 1s}});
  expect(1, 0, 0);
  advance(1s);
  (void)promote();
  expect(0, 1, 0);
  Lease lease = claim();
  expect(0, 0, 1);
  (void)yield(lease);
  expect(0, 1, 0);
  (void)release(claim());
  expect(0, 1, 0);
  (void)claim();
  (void)lose_leases();
  expect(0, 1, 0);
  (void)abort(claim());
  expect(1, 0, 0);
  (void)cancel(lease.id);
  expect(0, 0, 0);
}

// Counts of finished tasks may be as old as `as_of`, so they are exact only if that is now.
TEST_P(Queues, CountTheirFinishedTasks) {
  (void)submit_many(6);
  const auto leases = claim_up_to(6);
  for (const std::size_t i : {0U, 1U, 2U}) (void)complete(leases[i]);
  for (const std::size_t i : {3U, 4U}) (void)abort(leases[i]);
  (void)cancel(leases[5].id);
  const QueueList list = value_of(queues().queues());
  EXPECT_LE(list.as_of, now());
  if (list.as_of < now()) return;
  const QueueInfo info = queue();
  EXPECT_EQ(info.completed, 3);
  EXPECT_EQ(info.aborted, 2);
  EXPECT_EQ(info.cancelled, 1);
  advance(kDefaultRetention + 1us);
  (void)purge();
  EXPECT_EQ(queue().completed + queue().aborted + queue().cancelled, 0);
}

TEST_P(Queues, ATaskThatRecursIsNotCountedAsFinished) {
  (void)complete(start({.recurring = 1h}));
  EXPECT_EQ(queue().completed, 0);
  EXPECT_EQ(queue().scheduled, 1);
}

TEST_P(Queues, TellHowLongTheLongestReadyTaskHasBeenReady) {
  EXPECT_EQ(code_of(queues().configure(kQueue, {})), std::nullopt);
  EXPECT_EQ(queue().oldest_ready, std::nullopt);
  (void)submit({.priority = 10});
  EXPECT_EQ(queue().oldest_ready, Duration::zero());
  advance(5s);
  (void)submit({.priority = 200});  // claimed first, but not the oldest
  (void)submit({.run_at = now() + 1h});
  EXPECT_EQ(queue().oldest_ready, Duration(5s));
  (void)claim();
  EXPECT_EQ(queue().oldest_ready, Duration(5s));
  (void)claim();
  EXPECT_EQ(queue().oldest_ready, std::nullopt);
}

TEST_P(Queues, APromotedTaskIsReadySinceItsPromotion) {
  (void)submit({.run_at = now() + 1s});
  advance(1h);
  (void)promote();
  advance(3s);
  EXPECT_EQ(queue().oldest_ready, Duration(3s));
}

TEST_P(Queues, EveryWorkerIdIsNew) {
  std::set<std::string> given;
  for (int i = 0; i < 20; ++i) {
    const std::string id = value_of(queues().new_worker_id());
    EXPECT_THAT(id, MatchesRegex("worker-[0-9]+"));
    EXPECT_TRUE(given.insert(id).second) << id;
  }
}

}  // namespace
}  // namespace horae::testing
