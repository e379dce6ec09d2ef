#include "stores/postgres/queues.h"

#include "stores/postgres/layout/tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "store/submission.h"
#include "stores/postgres/cache/queue_names.h"
#include "stores/postgres/migrations.h"
#include "stores/postgres/test_database.h"

namespace horae::postgres {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;

class MigratedDatabase : public TestDatabase {
 protected:
  MigratedDatabase() { (void)migrate_database(*connect(), false).value(); }

  Pool pool_{url(), 4};
  QueueNames names_{pool_};
};

class QueueNamesTest : public MigratedDatabase {};
class QueuesTest : public MigratedDatabase {
 protected:
  DatabaseIdentity database_{[] { return Result<std::string>(""); }, [] {}};
  Queues queues_{pool_, database_, names_};
};

// ---- Names ----

TEST_F(QueueNamesTest, FindsThoseThatExistAndMakesNone) {
  EXPECT_THAT(names_.find({"a", "b"}).value(), IsEmpty());
  ask("INSERT INTO queue (name, retention) VALUES ('b', 0)");
  EXPECT_THAT(names_.find({"a", "b", "b", "not a name", "\xff"}).value(), ElementsAre(Key("b")));
  EXPECT_EQ(ask("SELECT count(*) FROM queue"), "1");
}

TEST_F(QueueNamesTest, MakesThoseThatAreMissingWithDefaultSettings) {
  const QueueNumbers made = names_.find_or_make({"b", "a", "b"}).value();
  EXPECT_THAT(made, ElementsAre(Key("a"), Key("b")));
  EXPECT_EQ(std::to_string(made.at("a")), ask("SELECT no FROM queue WHERE name = 'a'"));
  EXPECT_EQ(names_.find_or_make({"a", "b"}).value(), made);
  EXPECT_EQ(ask("SELECT count(*) FROM queue"), "2");
  EXPECT_EQ(ask("SELECT paused || ' ' || base || ' ' || rate || ' ' || since || ' ' || retention FROM queue LIMIT 1"),
            "false 0 1 0 " + std::to_string(kDefaultRetention.count()));
}

TEST_F(QueueNamesTest, ReadOnlyNewNamesFromTheDatabase) {
  const QueueNumbers made = names_.find_or_make({"a"}).value();
  ask("DROP TABLE queue CASCADE");
  EXPECT_EQ(names_.find({"a"}).value(), made);
  EXPECT_EQ(names_.find_or_make({"a"}).value(), made);
  EXPECT_EQ(names_.name_of(made.at("a")).value(), "a");
  EXPECT_FALSE(names_.find({"b"}).ok());
}

TEST_F(QueueNamesTest, FindTheNameOfANumber) {
  ask("INSERT INTO queue (name, retention) VALUES ('theirs', 0)");
  const int no = std::stoi(ask("SELECT no FROM queue"));
  EXPECT_EQ(names_.name_of(no).value(), "theirs");
  EXPECT_EQ(names_.name_of(no + 1).error().code, ErrorCode::kInternal);
  ask("DELETE FROM queue");
  EXPECT_EQ(names_.name_of(no).value(), "theirs");  // is remembered
}

TEST_F(QueueNamesTest, MakesTheFirstOnesUpToTheLimit) {
  ask("INSERT INTO queue (name, retention) SELECT 'q' || n, 0 FROM generate_series(3, " + std::to_string(kMaxQueues) +
      ") AS n");
  EXPECT_THAT(names_.find_or_make({"z", "q7", "y", "x", "a"}).value(), ElementsAre(Key("q7"), Key("y"), Key("z")));
  EXPECT_THAT(names_.find_or_make({"a"}).value(), IsEmpty());
  EXPECT_EQ(ask("SELECT count(*) FROM queue"), std::to_string(kMaxQueues));
}

TEST_F(QueueNamesTest, ManyNodesTogetherMakeNoMoreThanTheLimit) {
  ask("INSERT INTO queue (name, retention) SELECT 'q' || n, 0 FROM generate_series(21, " + std::to_string(kMaxQueues) +
      ") AS n");
  std::barrier together(4);
  std::vector<std::thread> nodes;
  for (int node = 0; node < 4; ++node) {
    nodes.emplace_back([&, node] {
      QueueNames names(pool_);
      together.arrive_and_wait();
      for (int i = 0; i < 10; ++i) {
        // One of its own, and one that all make.
        EXPECT_TRUE(names.find_or_make({"own" + std::to_string(node * 10 + i), "all" + std::to_string(i)}).ok());
      }
    });
  }
  for (std::thread& node : nodes) node.join();
  EXPECT_EQ(ask("SELECT count(*) FROM queue"), std::to_string(kMaxQueues));
}

// A node's own cache of what a token made would be of no use: the rows are counted.
TEST_F(QueueNamesTest, ManyNodesTogetherMakeNoMoreForATokenThanItMay) {
  const QueueAllowance allowance{.token = "t-1", .most = 10};
  std::barrier together(4);
  std::vector<std::thread> nodes;
  for (int node = 0; node < 4; ++node) {
    nodes.emplace_back([&, node] {
      QueueNames names(pool_);
      together.arrive_and_wait();
      for (int i = 0; i < 5; ++i) {
        const std::string name = "own" + std::to_string(node * 5 + i);
        const auto made = names.find_or_make_wanted({{.name = name, .allowance = &allowance}});
        EXPECT_TRUE(made.ok() && !made->is_full);
      }
    });
  }
  for (std::thread& node : nodes) node.join();
  EXPECT_EQ(ask("SELECT count(*) FROM queue WHERE made_by = 't-1'"), "10");
}

// ---- Counts ----

TEST_F(QueuesTest, CountRangesAndSumTheTally) {
  const int a = names_.find_or_make({"a", "b"}).value().at("a");
  const std::string no = std::to_string(a);
  ask("INSERT INTO ready (lo, hi, queue, rank, at, updated_at, attempt, tries) VALUES"
      " (0, 63, " +
      no +
      ", 0, extract(epoch FROM now())::bigint - 100, now(), 0, 0),"
      " (100, 100, " +
      no +
      ", 0, extract(epoch FROM now())::bigint, now(), 0, 0);"
      "INSERT INTO tally VALUES (" +
      no + ", 3, 5), (" + no + ", 3, -2), (" + no + ", 4, 7), (" + no + ", 5, 1)");
  const QueueList list = queues_.queues().value();
  ASSERT_EQ(list.queues.size(), 2U);
  EXPECT_EQ(list.queues[0].ready, 65);
  EXPECT_EQ(list.queues[0].completed, 3);
  EXPECT_EQ(list.queues[0].aborted, 7);
  EXPECT_EQ(list.queues[0].cancelled, 1);
  ASSERT_TRUE(list.queues[0].oldest_ready);
  EXPECT_GE(*list.queues[0].oldest_ready, std::chrono::seconds(99));
  EXPECT_LE(*list.queues[0].oldest_ready, std::chrono::seconds(160));
  EXPECT_EQ(list.queues[1], (QueueInfo{.name = "b"}));
}

TEST_F(QueuesTest, ALongTallyIsAddedUp) {
  const QueueNumbers numbers = names_.find_or_make({"a", "b"}).value();
  const auto fill = [&](int count) {
    ask("INSERT INTO tally SELECT no, state, n FROM queue, generate_series(3, 5) AS state, generate_series(1, " +
        std::to_string(count) + ") AS n");
  };
  fill(10);
  const QueueList before = queues_.queues().value();
  EXPECT_EQ(before.queues[0].completed, 55);
  EXPECT_EQ(ask("SELECT count(*) FROM tally"), "60");  // short enough
  fill(1'000);
  EXPECT_EQ(queues_.queues().value().queues[1].aborted, 55 + 500'500);
  EXPECT_EQ(ask("SELECT count(*) FROM tally"), "6");
  EXPECT_EQ(queues_.queues().value().queues[1].aborted, 55 + 500'500);
}

TEST_F(QueuesTest, DifferencesThatCancelOutLeaveNoRow) {
  ask("INSERT INTO tally VALUES (1, 3, 5), (1, 3, -5)");
  EXPECT_EQ(fold_tally(pool_).value(), 2U);
  EXPECT_EQ(ask("SELECT count(*) FROM tally"), "0");
}

TEST_F(QueuesTest, FoldingDoesNotWaitForAnotherFold) {
  ask("INSERT INTO tally SELECT 1, 3, 1 FROM generate_series(1, 10)");
  const auto peer = connect();
  Transaction folding(*peer);
  EXPECT_EQ(folding.run({"hold", "DELETE FROM tally WHERE ctid IN (SELECT ctid FROM tally LIMIT 4)"}).affected(), 4U);
  EXPECT_EQ(fold_tally(pool_).value(), 6U);
}

TEST_F(QueuesTest, NoCountIsLostWhileManyFoldAndAdd) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 50; ++round) {
        if (i % 2 == 0) {
          EXPECT_TRUE(fold_tally(pool_).ok());
        } else {
          const auto added = pool_.transact<int>([](Transaction& transaction) -> Result<int> {
            transaction.send({"add", "INSERT INTO tally VALUES (1, 3, 1), (1, 4, 2)"});
            if (auto done = transaction.commit(); !done.ok()) return done.error();
            return 0;
          });
          EXPECT_TRUE(added.ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ask("SELECT sum(n) FROM tally WHERE state = 3"), "100");
  EXPECT_EQ(ask("SELECT sum(n) FROM tally WHERE state = 4"), "200");
}

// ---- Settings ----

TEST_F(QueuesTest, ConcurrentChangesOfOneQueueBothTakeEffect) {
  (void)names_.find_or_make({"a"}).value();
  std::barrier together(2);
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) {
      together.arrive_and_wait();
      EXPECT_TRUE(queues_.configure("a", {.paused = i % 2 == 0}).ok());
      together.arrive_and_wait();
    }
  });
  for (int i = 0; i < 50; ++i) {
    together.arrive_and_wait();
    EXPECT_TRUE(queues_.configure("a", {.ageing_rate = i}).ok());
    together.arrive_and_wait();
    const QueueSettings now = queues_.configure("a", {}).value();
    EXPECT_EQ(now.ageing_rate, i);
    EXPECT_EQ(now.paused, i % 2 == 0);
  }
  other.join();
}

}  // namespace
}  // namespace horae::postgres
