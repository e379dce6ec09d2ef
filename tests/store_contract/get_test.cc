// Looking up tasks by id and by key.

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

TEST_P(Get, AnUnknownIdIsNothing) { EXPECT_EQ(find(new_id()), std::nullopt); }

TEST_P(Get, OneAnswerForEachIdInOrder) {
  const auto ids = submit_many(3);
  const auto tasks_found = value_of(tasks().get(std::vector{ids[2], new_id(), ids[0], ids[2]}));
  ASSERT_EQ(tasks_found.size(), 4U);
  EXPECT_EQ(tasks_found[0]->id, ids[2]);
  EXPECT_EQ(tasks_found[1], std::nullopt);
  EXPECT_EQ(tasks_found[2]->id, ids[0]);
  EXPECT_EQ(tasks_found[3], tasks_found[0]);
}

TEST_P(Get, FindsTasksInEveryState) {
  const TaskId scheduled = submit({.run_at = now() + 1h});
  const Lease completed = start();
  (void)complete(completed);
  const Lease aborted = start();
  (void)abort(aborted);
  const Lease cancelled = start();
  (void)cancel(cancelled.id);
  const Lease running = start();
  const TaskId ready = submit();
  EXPECT_EQ(state_of(scheduled), State::kScheduled);
  EXPECT_EQ(state_of(completed.id), State::kCompleted);
  EXPECT_EQ(state_of(aborted.id), State::kAborted);
  EXPECT_EQ(state_of(cancelled.id), State::kCancelled);
  EXPECT_EQ(state_of(running.id), State::kRunning);
  EXPECT_EQ(state_of(ready), State::kReady);
}

TEST_P(Get, AWholeBatchOfIds) {
  const auto ids = submit_many(kMaxBatch);
  const auto tasks_found = value_of(tasks().get(ids));
  ASSERT_EQ(tasks_found.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(tasks_found[i]->id, ids[i]);
}

TEST_P(Get, FindsATaskByItsKey) {
  const TaskId id = submit({.key = "k", .queue = "mail"});
  (void)submit({.key = "k", .queue = "other"});
  const auto task = value_of(tasks().find("mail", "k"));
  ASSERT_TRUE(task);
  EXPECT_EQ(task->id, id);
  EXPECT_EQ(*task, get(id));
}

TEST_P(Get, AnUnknownKeyIsNothing) {
  (void)submit({.key = "k"});
  EXPECT_EQ(value_of(tasks().find(kQueue, "K")), std::nullopt);
  EXPECT_EQ(value_of(tasks().find("elsewhere", "k")), std::nullopt);
}

TEST_P(Get, AKeyFindsTheTaskInEveryState) {
  const Lease lease = start({.key = "k"});
  EXPECT_EQ(value_of(tasks().find(kQueue, "k"))->state, State::kRunning);
  (void)complete(lease);
  EXPECT_EQ(value_of(tasks().find(kQueue, "k"))->state, State::kCompleted);
}

TEST_P(Get, AKeyOfEveryKindOfCharacters) {
  std::string longest;
  for (std::size_t i = 0; i < kMaxKeyCharacters; ++i) longest += "\U0001F30D";
  for (const std::string& key : {std::string("'; drop table task; --"), std::string("100%_\\"), longest}) {
    const TaskId id = submit({.key = key});
    const auto task = value_of(tasks().find(kQueue, key));
    ASSERT_TRUE(task);
    EXPECT_EQ(task->id, id);
    EXPECT_EQ(task->key, key);
  }
}

TEST_P(Get, TimesAreExactToTheMicrosecond) {
  advance(123'457us);
  const TaskId id = submit({.run_at = now() + 1us});
  EXPECT_EQ(get(id).created_at, now());
  EXPECT_EQ(get(id).run_at, now() + 1us);
}

}  // namespace
}  // namespace horae::testing
