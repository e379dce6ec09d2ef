// The database behind the store is another one than before: an old one, or a new one.
#include "stores/postgres/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "stores/postgres/postgres_store.h"
#include "stores/postgres/test_database.h"
#include "tests/support/postgres_server.h"

namespace horae::postgres {
namespace {

using horae::testing::PgBouncer;
using horae::testing::PostgresServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

PostgresStoreOptions unsafe() { return {.allow_unsafe = {"fsync", "full_page_writes", "synchronous_commit"}}; }

// A store, as a node has it, and the little that the tests ask of it.
class Client {
 public:
  explicit Client(const std::string& url) : store_(std::move(open_postgres_store(url, unsafe())).value()) {}

  Store& store() { return *store_; }

  Result<std::vector<SubmitOutcome>> try_to_submit(const std::string& queue, const std::string& spec) {
    const Submission submission{.task = {.queue = queue, .spec = spec}, .new_id = ids_.next()};
    return store_->tasks().submit(std::span(&submission, 1));
  }

  void submit(const std::string& queue, const std::string& spec) {
    const auto submitted = try_to_submit(queue, spec);
    ASSERT_TRUE(submitted.ok()) << submitted.error().message;
  }

  std::vector<LeasedTask> claim(const std::string& queue) {
    const ClaimWish wish{.owner = "worker-1", .queues = {queue}, .max = 100, .token = ids_.next()};
    auto claimed = store_->tasks().claim(std::span(&wish, 1));
    EXPECT_TRUE(claimed.ok()) << claimed.error().message;
    return claimed.ok() ? std::move(claimed->at(0)) : std::vector<LeasedTask>();
  }

  std::vector<std::string> claim_specs(const std::string& queue) {
    std::vector<std::string> specs;
    for (LeasedTask& task : claim(queue)) specs.push_back(std::move(task.spec));
    return specs;
  }

  SettleOutcome complete(const LeasedTask& task) {
    const Settlement settlement{
        .event = Event::kComplete, .id = task.id, .number = task.number, .attempt = task.attempt, .owner = "worker-1"};
    auto settled = store_->tasks().settle(std::span(&settlement, 1));
    EXPECT_TRUE(settled.ok()) << settled.error().message;
    return settled.ok() ? settled->at(0) : SettleOutcome();
  }

 private:
  SystemClock clock_;
  SystemRandom random_;
  UuidSource ids_{clock_, random_};
  std::unique_ptr<Store> store_;
};

// With and without a pooler, which keeps its connections to us when it has lost its own.
class OtherDatabase : public TestDatabase, public ::testing::WithParamInterface<bool> {
 protected:
  OtherDatabase() {
    if (GetParam()) pooler_ = std::make_unique<PgBouncer>(test_server());
  }

  std::string node_url() const { return pooler_ ? pooler_->url_of(url()) : url(); }

  // While nobody is connected.
  void back_up() {
    ASSERT_TRUE(migrate_postgres(url(), false).ok());
    backup_ = test_server().copy_database(url());
  }

  // The database is what it was at back_up(), and loses its connections.
  void restore() {
    const std::string copy = test_server().copy_database(backup_);
    test_server().drop_database(url());
    test_server().run_sql("ALTER DATABASE " + copy.substr(copy.rfind('/') + 1) + " RENAME TO " + name(), "postgres");
  }

  void make_anew() {
    test_server().drop_database(url());
    test_server().run_sql("CREATE DATABASE " + name(), "postgres");
  }

  std::unique_ptr<PgBouncer> pooler_;
  std::string backup_;
};

INSTANTIATE_TEST_SUITE_P(, OtherDatabase, ::testing::Values(false, true),
                         [](const auto& each) { return each.param ? "BehindPgBouncer" : "Direct"; });

TEST_P(OtherDatabase, TasksGoIntoTheirQueueAlsoIfItsNumberIsThatOfAnotherNow) {
  back_up();
  Client node(node_url());
  node.submit("mine", "lost with the database");
  restore();
  Client other(url());
  other.submit("theirs", "theirs");

  node.submit("mine", "mine");
  EXPECT_THAT(node.claim_specs("theirs"), ElementsAre("theirs"));
  EXPECT_THAT(other.claim_specs("mine"), ElementsAre("mine"));
}

TEST_P(OtherDatabase, WhatTasksAreIsReadAgain) {
  back_up();
  Client node(node_url());
  for (int i = 0; i < 3; ++i) node.submit("mail", "lost with the database");
  restore();
  Client other(url());
  for (const char* spec : {"a", "b", "c"}) other.submit("mail", spec);
  EXPECT_THAT(node.claim_specs("mail"), ElementsAre("a", "b", "c"));
}

TEST_P(OtherDatabase, NumbersThatWereSetAsideMayBeThoseOfOthersNow) {
  back_up();
  Client node(node_url());
  node.submit("mail", "lost with the database");
  restore();
  Client other(url());
  for (const char* spec : {"a", "b", "c"}) other.submit("mail", spec);
  for (const char* spec : {"d", "e"}) node.submit("mail", spec);
  EXPECT_THAT(other.claim_specs("mail"), UnorderedElementsAre("a", "b", "c", "d", "e"));
}

TEST_P(OtherDatabase, AnAnswerThatIsLateByADatabaseChangesNothing) {
  back_up();
  Client node(node_url());
  node.submit("mail", "lost with the database");
  const LeasedTask old = node.claim("mail").at(0);
  restore();
  Client other(url());
  other.submit("mail", "theirs");
  const LeasedTask theirs = other.claim("mail").at(0);
  ASSERT_EQ(theirs.number, old.number) << "the test is worth nothing";

  EXPECT_EQ(node.complete(old).verdict, Verdict::kNotFound);
  EXPECT_EQ(other.complete(theirs).verdict, Verdict::kAccepted);
}

TEST_P(OtherDatabase, OneThatWasMadeAnewIsPutInOrderAndUsed) {
  Client node(node_url());
  node.submit("mail", "lost with the database");
  make_anew();
  node.submit("mail", "a");
  EXPECT_THAT(node.claim_specs("mail"), ElementsAre("a"));
}

TEST_P(OtherDatabase, TheTickFindsItAndAllElseWorksAgain) {
  Client node(node_url());
  const TickWish wish{.self = {.id = "worker-1"}, .wants_hints = false, .awaited = {}};
  ASSERT_TRUE(node.store().cluster().tick(wish).ok());
  ASSERT_TRUE(node.store().tokens().tokens().ok());
  make_anew();
  ASSERT_TRUE(node.store().cluster().tick(wish).ok());
  EXPECT_TRUE(node.store().tokens().tokens().ok());
  EXPECT_TRUE(node.store().queues().queues().value().queues.empty());
}

// Each thread has its own queue, and its tasks say which. Some calls fail; what was acknowledged by the last database
// is there, and where it belongs.
TEST_P(OtherDatabase, UnderLoadEveryTaskLiesInTheQueueThatItWasFor) {
  constexpr std::size_t kThreads = 4;
  back_up();
  Client node(node_url());
  std::atomic<bool> is_over = false;
  struct Thread {
    std::atomic<int> count = 0;
    std::string last;  // the id of the last task that was acknowledged; read after its end
    std::thread thread;
  };
  std::vector<Thread> threads(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads[i].thread = std::thread([&, queue = "q" + std::to_string(i), &mine = threads[i]] {
      while (!is_over) {
        const auto submitted = node.try_to_submit(queue, queue);
        if (!submitted.ok()) continue;
        mine.last = to_string(submitted->at(0).id);
        ++mine.count;
      }
    });
  }
  const auto let_each_submit_some = [&] {
    for (Thread& each : threads) {
      const int enough = each.count + 20;
      while (each.count < enough) std::this_thread::yield();
    }
  };
  for (int i = 0; i < 3; ++i) {
    let_each_submit_some();
    restore();
    Client(url()).submit("not" + std::to_string(i), "not" + std::to_string(i));  // takes the first number
  }
  let_each_submit_some();
  is_over = true;
  for (Thread& each : threads) each.thread.join();

  EXPECT_EQ(ask("SELECT count(*) FROM task JOIN queue ON queue.no = task.queue WHERE spec <> name"), "0");
  EXPECT_EQ(ask("SELECT count(*) FROM task WHERE NOT EXISTS (SELECT FROM run WHERE task.seq BETWEEN lo AND hi"
                " AND run.queue = task.queue)"),
            "0");
  std::string last;
  for (const Thread& each : threads) last += (last.empty() ? "'" : ", '") + each.last + "'";
  EXPECT_EQ(ask("SELECT count(*) FROM task WHERE id IN (" + last + ")"), std::to_string(kThreads));
}

class RestartedServer : public TestDatabase {};

TEST_F(RestartedServer, NobodyNoticesThatTheServerWasStartedAgain) {
  PostgresServer server({.durable = false, .settings = {}});
  Client node(server.make_database());
  node.submit("mail", "a");
  server.stop();
  server.start();
  node.submit("mail", "b");
  server.stop();
  server.start();
  EXPECT_THAT(node.claim_specs("mail"), ElementsAre("a", "b"));
}

// ---- A queue whose row is gone ----

class LostQueueRow : public TestDatabase {
 protected:
  LostQueueRow() {
    node_.submit("mail", "before");
    (void)node_.claim("mail");
    ask("DELETE FROM queue");
  }

  Client node_{url()};
};

TEST_F(LostQueueRow, NoTaskIsStoredWhereNobodyLooksForIt) {
  const auto submitted = node_.try_to_submit("mail", "after");
  ASSERT_FALSE(submitted.ok());
  EXPECT_THAT(submitted.error().message, HasSubstr("rank"));
  EXPECT_EQ(ask("SELECT count(*) FROM task"), "1");
}

TEST_F(LostQueueRow, NoTaskIsTakenThatWasNotThere) {
  SystemClock clock;
  SystemRandom random;
  UuidSource ids(clock, random);
  Bundle calls;
  const std::vector<Submission> submissions = {{.task = {.queue = "mail", .spec = "after"}, .new_id = ids.next()}};
  const std::vector<ClaimWish> wishes = {{.owner = "worker-1", .queues = {"mail"}, .token = ids.next()}};
  calls.submissions = submissions;
  calls.wishes = wishes;
  EXPECT_FALSE(node_.store().tasks().exchange(calls).ok());
  EXPECT_EQ(ask("SELECT count(*) FROM task"), "1");
}

TEST_F(LostQueueRow, ATaskThatIsDueStaysWhereItIs) {
  ask("INSERT INTO delayed (lo, hi, due, queue, priority, updated_at, attempt, tries)"
      " VALUES (1, 1, now() - interval '1 second', 1, 0, now(), 0, 0)");
  EXPECT_FALSE(node_.store().tasks().promote_due(10).ok());
  EXPECT_EQ(ask("SELECT count(*) FROM delayed"), "1");
}

}  // namespace
}  // namespace horae::postgres
