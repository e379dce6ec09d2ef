// What happens to messages when two come at once; all else is in tests/store_contract/messages_test.cc.

#include "stores/postgres/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "base/clock.h"
#include "stores/postgres/migrations.h"
#include "stores/postgres/test_database.h"
#include "tests/support/server_process.h"

namespace horae::postgres {
namespace {

using std::chrono_literals::operator""h;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MessagesTest : public TestDatabase {
 protected:
  MessagesTest() { (void)migrate_database(*connect(), false).value(); }

  Instant now() const { return clock_.wall_now(); }

  std::vector<EnqueueKind> enqueue(const std::vector<std::string>& ids, bool stores_late = true) {
    std::vector<NewMessage> batch;
    for (const std::string& id : ids) batch.push_back({{.id = id, .deadline = Instant{}}});
    const EnqueueWish wish{.delay_queue = "delay", .stores_late = stores_late, .messages = batch};
    return messages_.enqueue(wish).value().kinds;
  }

  std::vector<ReadiedMessage> take(Messages& messages, std::size_t max) {
    const TurnWish wish{.delay_queue = "delay", .ready = {.max = max, .max_bytes = 1000}};
    return messages.turn(wish).value().readied;
  }

  static std::vector<std::string> ids_of(const std::vector<ReadiedMessage>& readied) {
    std::vector<std::string> ids;
    for (const ReadiedMessage& each : readied) ids.push_back(each.message.id);
    return ids;
  }

  // Until somebody in this database waits for a lock.
  void wait_for_waiter() {
    EXPECT_TRUE(horae::testing::wait_until([&] {
      return ask("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = "
                 "'Lock'") != "0";
    }));
  }

  const Sql insert_{"insert",
                    "INSERT INTO message (delay_queue, id, deadline, due, headers)"
                    " VALUES ('delay', $1, '1970-01-01Z', '1970-01-01Z', '[]')"};

  SystemClock clock_;
  Pool pool_{url(), 4};
  Messages messages_{pool_, clock_};
  Pool peer_pool_{url(), 1};
  Messages peer_messages_{peer_pool_, clock_};
  const std::unique_ptr<Connection> peer_ = connect();
};

TEST_F(MessagesTest, SkipsMessagesThatAnotherNodeIsTaking) {
  enqueue({"a", "b", "c"});
  Transaction taking(*peer_);
  EXPECT_EQ(taking.run({"take", "UPDATE message SET readied_at = now() WHERE id = 'a'"}).affected(), 1U);
  EXPECT_THAT(ids_of(take(messages_, 2)), ElementsAre("b", "c"));
}

TEST_F(MessagesTest, WhatAnotherNodeFailedToTakeIsFoundAgain) {
  enqueue({"a", "b"});
  {
    Transaction taking(*peer_);
    EXPECT_EQ(taking.run({"take", "UPDATE message SET readied_at = now() WHERE id = 'a'"}).affected(), 1U);
    EXPECT_THAT(ids_of(take(messages_, 5)), ElementsAre("b"));
  }  // rolls back
  EXPECT_THAT(ids_of(take(messages_, 5)), ElementsAre("a"));
}

TEST_F(MessagesTest, ATurnDoesNotGiveAMessageThatWasTakenBetweenItsSnapshotAndItsLock) {
  enqueue({"a"});
  // A turn that is held between the two is not at hand; what its update checks again stands in for it.
  Transaction taking(*peer_);
  taking.run({"take", "UPDATE message SET readied_at = now(), readied_by = gen_random_uuid() WHERE id = 'a'"});
  EXPECT_THAT(take(messages_, 5), IsEmpty());
  EXPECT_TRUE(taking.commit().ok());
  EXPECT_THAT(take(messages_, 5), IsEmpty());
}

TEST_F(MessagesTest, ConcurrentEnqueuesOfTheSameIdsDoNotDeadlock) {
  Transaction first(*peer_);
  first.run({"soon", "SET LOCAL deadlock_timeout = '1ms'"});  // were there a circle, this one would be thrown out
  first.run(insert_, Params::of(std::string("a")));
  auto second = std::async(std::launch::async, [&] { return enqueue({"b", "a"}); });
  wait_for_waiter();
  first.run(insert_, Params::of(std::string("b")));
  EXPECT_TRUE(first.commit().ok());
  EXPECT_THAT(second.get(), ElementsAre(EnqueueKind::kFiring, EnqueueKind::kFiring)) << "both have long been due";
}

TEST_F(MessagesTest, AnIdWhoseEnqueueFailsIsFree) {
  Transaction first(*peer_);
  first.run(insert_, Params::of(std::string("a")));
  auto second = std::async(std::launch::async, [&] { return enqueue({"a"}); });
  wait_for_waiter();
  first.run({"fail", "SELECT 1 / 0"});
  EXPECT_TRUE(first.failed());
  EXPECT_FALSE(first.commit().ok());
  // The server has rolled back at the error; its locks go with the transaction.
  EXPECT_THAT(second.get(), ElementsAre(EnqueueKind::kWaiting));
}

TEST_F(MessagesTest, AnIdThatGoesWhileItIsEnqueuedAgainIsStored) {
  enqueue({"a"});
  Transaction first(*peer_);
  first.run({"fire", "DELETE FROM message"});
  auto second = std::async(std::launch::async, [&] { return enqueue({"a"}); });
  wait_for_waiter();
  EXPECT_TRUE(first.commit().ok());
  EXPECT_THAT(second.get(), ElementsAre(EnqueueKind::kWaiting));
  EXPECT_EQ(ask("SELECT count(*) FROM message"), "1");
}

TEST_F(MessagesTest, ResetAgainstRemoveIsDecidedByTheFirst) {
  enqueue({"a"});
  const std::vector<Readying> readied = {take(messages_, 1).at(0).readying};
  Transaction first(*peer_);
  first.run({"remove", "DELETE FROM message"});
  auto second = std::async(std::launch::async, [&] { return messages_.reset("delay", readied).value(); });
  wait_for_waiter();
  EXPECT_TRUE(first.commit().ok());
  EXPECT_THAT(second.get(), ElementsAre(false));
}

TEST_F(MessagesTest, RemoveAgainstResetIsDecidedByTheFirst) {
  enqueue({"a"});
  const std::vector<Readying> readied = {take(messages_, 1).at(0).readying};
  Transaction first(*peer_);
  first.run({"reset", "UPDATE message SET readied_at = NULL, readied_by = NULL"});
  auto second = std::async(std::launch::async,
                           [&] { return messages_.turn({.delay_queue = "delay", .fired = readied}).value().removed; });
  wait_for_waiter();
  EXPECT_TRUE(first.commit().ok());
  EXPECT_THAT(second.get(), ElementsAre(false));
  EXPECT_EQ(ask("SELECT count(*) FROM message"), "1");
}

TEST_F(MessagesTest, SecondOfTwoConcurrentCancelsFindsNothing) {
  enqueue({"a"});
  Transaction first(*peer_);
  first.run({"cancel", "DELETE FROM message"});
  const std::vector<std::string> ids = {"a"};
  auto second = std::async(std::launch::async, [&] { return messages_.cancel("delay", ids).value(); });
  wait_for_waiter();
  EXPECT_TRUE(first.commit().ok());
  EXPECT_THAT(second.get(), ElementsAre(Verdict::kNotFound));
}

TEST_F(MessagesTest, CancelDuringTakingIsTooLate) {
  enqueue({"a"});
  Transaction first(*peer_);
  first.run({"take", "UPDATE message SET readied_at = now(), readied_by = gen_random_uuid()"});
  const std::vector<std::string> ids = {"a"};
  auto second = std::async(std::launch::async, [&] { return messages_.cancel("delay", ids).value(); });
  wait_for_waiter();
  EXPECT_TRUE(first.commit().ok());
  EXPECT_THAT(second.get(), ElementsAre(Verdict::kWrongState));
}

// A node remembers where its queue begins. What another node puts below that is found all the same.
TEST_F(MessagesTest, WhatComesBelowTheFloorOfAnotherNodeIsFoundWithinASecond) {
  EXPECT_THAT(take(peer_messages_, 5), IsEmpty());
  enqueue({"a"});
  EXPECT_TRUE(horae::testing::wait_until([&] { return !take(peer_messages_, 5).empty(); }));
}

TEST_F(MessagesTest, WhatThisNodeGivesBackOrMovesBelowItsFloorIsFoundAtOnce) {
  enqueue({"a", "b"});
  const auto readied = take(messages_, 5);
  EXPECT_THAT(take(messages_, 5), IsEmpty());
  EXPECT_THAT(messages_.reset("delay", std::vector{readied.at(0).readying}).value(), ElementsAre(true));
  const std::vector<GiveBack> failed = {{.readying = readied.at(1).readying}};
  EXPECT_TRUE(messages_.turn({.delay_queue = "delay", .failed = failed}).value().next_in);
  EXPECT_THAT(ids_of(take(messages_, 5)), ElementsAre("a", "b"));
}

TEST_F(MessagesTest, ReadyingIsAHotUpdate) {
  std::vector<NewMessage> batch;
  for (int i = 0; i < 200; ++i) {
    batch.push_back({{.id = std::to_string(i), .deadline = Instant{}, .value = std::string(200, 'x')}});
  }
  (void)messages_.enqueue({.delay_queue = "delay", .stores_late = true, .messages = batch}).value();
  const TurnWish wish{.delay_queue = "delay", .ready = {.max = 200, .max_bytes = 1 << 20}};
  EXPECT_EQ(messages_.turn(wish).value().readied.size(), 200U);
  EXPECT_TRUE(horae::testing::wait_until([&] {
    return ask("SELECT n_tup_upd = 200 AND n_tup_hot_upd = 200 FROM pg_stat_user_tables WHERE relname = 'message'") ==
           "t";
  }));
}

// ---- The view of Chronos ----

TEST_F(MessagesTest, TheViewShowsTheTableOfChronos) {
  const NewMessage sent{{.id = "m",
                         .deadline = Instant{} + std::chrono::microseconds(1'500'000),
                         .key = "k",
                         .value = "v",
                         .headers = {{"a", "1"}, {"a", std::nullopt}, {"raw", std::string("\xff\0", 2)}}}};
  const std::vector batch = {sent};
  (void)messages_.enqueue({.delay_queue = "delay", .stores_late = true, .messages = batch}).value();
  EXPECT_EQ(ask("SELECT string_agg(column_name, ' ' ORDER BY ordinal_position) FROM information_schema.columns"
                " WHERE table_name = 'chronos'"),
            "id deadline readied_at readied_by message_headers message_key message_value queue");
  EXPECT_EQ(ask("SELECT message_headers FROM chronos"), R"([{"a": "1"}, {"a": null}, {"raw": {"base64": "/wA="}}])");
  EXPECT_EQ(
      ask("SELECT concat_ws('|', id, extract(epoch from deadline), message_key, convert_from(message_value, 'UTF8'),"
          " queue) FROM chronos"),
      "m|1.500000|k|v|delay");
}

}  // namespace
}  // namespace horae::postgres
