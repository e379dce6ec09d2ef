// What happens to messages when two come at once; all else is in tests/store_contract/messages_test.cc.

#include "stores/postgres/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "stores/postgres/migrations.h"
#include "stores/postgres/test_database.h"
#include "tests/support/server_process.h"

namespace horae::postgres {
namespace {

using ::testing::ElementsAre;

class MessagesTest : public TestDatabase {
 protected:
  MessagesTest() { (void)migrate_database(*connect(), false).value(); }

  std::vector<Verdict> enqueue(const std::vector<std::string>& ids) {
    std::vector<Message> messages;
    for (const std::string& id : ids) messages.push_back({.id = id, .deadline = Instant{}});
    return messages_.enqueue("delay", messages).value();
  }

  // Until somebody in this database waits for a lock.
  void wait_for_waiter() {
    EXPECT_TRUE(horae::testing::wait_until([&] {
      return ask("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = "
                 "'Lock'") != "0";
    }));
  }

  Pool pool_{url(), 4};
  Messages messages_{pool_};
  const std::unique_ptr<Connection> peer_ = connect();
};

TEST_F(MessagesTest, SkipsMessagesThatAnotherNodeIsTaking) {
  enqueue({"a", "b", "c"});
  Transaction taking(*peer_);
  EXPECT_EQ(taking.run({"take", "UPDATE message SET readied_at = now() WHERE id = 'a'"}).affected(), 1U);
  const ReadyDueOutcome outcome = messages_.ready_due("delay", Uuid{}, Duration::zero(), 2).value();
  ASSERT_EQ(outcome.messages.size(), 2U);
  EXPECT_EQ(outcome.messages[0].message.id, "b");
  EXPECT_EQ(outcome.messages[1].message.id, "c");
}

TEST_F(MessagesTest, ConcurrentEnqueuesOfTheSameIdsDoNotDeadlock) {
  const Sql insert{"insert",
                   "INSERT INTO message (delay_queue, id, deadline, headers) VALUES ('delay', $1, now(), '')"};
  Transaction first(*peer_);
  first.run({"soon", "SET LOCAL deadlock_timeout = '1ms'"});  // were there a circle, this one would be thrown out
  first.run(insert, Params::of(std::string("a")));
  auto second = std::async(std::launch::async, [&] { return enqueue({"b", "a"}); });
  wait_for_waiter();
  first.run(insert, Params::of(std::string("b")));
  EXPECT_TRUE(first.commit().ok());
  EXPECT_THAT(second.get(), ElementsAre(Verdict::kRepeated, Verdict::kRepeated));
}

TEST_F(MessagesTest, AnIdWhoseEnqueueFailsIsFree) {
  Transaction first(*peer_);
  first.run({"insert", "INSERT INTO message (delay_queue, id, deadline, headers) VALUES ('delay', 'a', now(), '')"});
  auto second = std::async(std::launch::async, [&] { return enqueue({"a"}); });
  wait_for_waiter();
  first.run({"fail", "SELECT 1 / 0"});
  EXPECT_TRUE(first.failed());
  EXPECT_FALSE(first.commit().ok());
  // The server has rolled back at the error; its locks go with the transaction.
  EXPECT_THAT(second.get(), ElementsAre(Verdict::kAccepted));
}

TEST_F(MessagesTest, SecondOfTwoConcurrentCancelsFindsNothing) {
  enqueue({"a"});
  Transaction first(*peer_);
  first.run({"cancel", "DELETE FROM message"});
  auto second = std::async(std::launch::async, [&] { return messages_.cancel("delay", "a").value(); });
  wait_for_waiter();
  EXPECT_TRUE(first.commit().ok());
  EXPECT_EQ(second.get(), Verdict::kNotFound);
}

TEST_F(MessagesTest, CancelDuringTakingIsTooLate) {
  enqueue({"a"});
  Transaction first(*peer_);
  first.run({"take", "UPDATE message SET readied_at = now(), readied_by = gen_random_uuid()"});
  auto second = std::async(std::launch::async, [&] { return messages_.cancel("delay", "a").value(); });
  wait_for_waiter();
  EXPECT_TRUE(first.commit().ok());
  EXPECT_EQ(second.get(), Verdict::kWrongState);
}

}  // namespace
}  // namespace horae::postgres
