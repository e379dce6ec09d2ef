// The database behind the store is another one than before: an old one, or a new one.
#include "stores/postgres/cache/database_identity.h"

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

// Asks again while the store is away, as every caller does; here for long enough.
template <typename Call>
std::invoke_result_t<Call> patiently(Call call) {
  constexpr int kMostTries = 1'000;
  for (int i = 0;; ++i) {
    auto answer = call();
    if (answer.ok() || answer.error().code != ErrorCode::kUnavailable || i == kMostTries) return answer;
    std::this_thread::yield();
  }
}

// A store, as a node has it, and the little that the tests ask of it.
class Client {
 public:
  explicit Client(const std::string& url) : store_(std::move(open_postgres_store(url, unsafe())).value()) {}

  Store& store() { return *store_; }

  Result<std::vector<SubmitOutcome>> submit_once(NewTask task) {
    const Submission submission{.task = std::move(task), .new_id = ids_.next()};
    return store_->tasks().submit(std::span(&submission, 1));
  }

  void submit(const std::string& queue, const std::string& spec) {
    const Submission submission{.task = {.queue = queue, .spec = spec}, .new_id = ids_.next()};
    const auto submitted = patiently([&] { return store_->tasks().submit(std::span(&submission, 1)); });
    ASSERT_TRUE(submitted.ok()) << submitted.error().message;
  }

  Result<std::vector<ClaimOutcome>> claim_once(const std::string& queue) {
    const ClaimWish wish{.owner = "worker-1", .queues = {queue}, .max = 100, .token = ids_.next()};
    return store_->tasks().claim(std::span(&wish, 1));
  }

  std::vector<LeasedTask> claim(const std::string& queue) {
    auto claimed = patiently([&] { return claim_once(queue); });
    EXPECT_TRUE(claimed.ok()) << claimed.error().message;
    return claimed.ok() ? std::move(claimed->at(0).tasks) : std::vector<LeasedTask>();
  }

  std::vector<std::string> claim_specs(const std::string& queue) { return specs_of(claim(queue)); }

  static std::vector<std::string> specs_of(const std::vector<LeasedTask>& tasks) {
    std::vector<std::string> specs;
    for (const LeasedTask& task : tasks) specs.push_back(task.spec);
    return specs;
  }

  SettleOutcome complete(const LeasedTask& task) {
    const Settlement settlement{
        .event = Event::kComplete, .id = task.id, .number = task.number, .attempt = task.attempt, .owner = "worker-1"};
    auto settled = patiently([&] { return store_->tasks().settle(std::span(&settlement, 1)); });
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

  // While there are no connections.
  void back_up() {
    ASSERT_TRUE(migrate_postgres(url(), false).ok());
    backup_ = test_server().copy_database(url());
  }

  // The database is what it was at back_up(), but for this change, and loses its connections.
  void restore(const std::string& change = "SELECT 1") {
    const std::string copy = test_server().copy_database(backup_);
    const std::string copy_name = copy.substr(copy.rfind('/') + 1);
    test_server().run_sql(change, copy_name);
    test_server().drop_database(url());
    test_server().run_sql("ALTER DATABASE " + copy_name + " RENAME TO " + name(), "postgres");
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

TEST_P(OtherDatabase, TasksReachTheirQueueAlthoughItsOldNumberBelongsToAnotherOne) {
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

TEST_P(OtherDatabase, CachedTasksAreReadAgain) {
  back_up();
  Client node(node_url());
  for (int i = 0; i < 3; ++i) node.submit("mail", "lost with the database");
  restore();
  Client other(url());
  for (const char* spec : {"a", "b", "c"}) other.submit("mail", spec);
  EXPECT_THAT(node.claim_specs("mail"), ElementsAre("a", "b", "c"));
}

TEST_P(OtherDatabase, ReservedNumbersAreDropped) {
  back_up();
  Client node(node_url());
  node.submit("mail", "lost with the database");
  restore();
  Client other(url());
  for (const char* spec : {"a", "b", "c"}) other.submit("mail", spec);
  for (const char* spec : {"d", "e"}) node.submit("mail", spec);
  EXPECT_THAT(other.claim_specs("mail"), UnorderedElementsAre("a", "b", "c", "d", "e"));
}

TEST_P(OtherDatabase, SettlementOfATaskOfTheOldDatabaseChangesNothing) {
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

TEST_P(OtherDatabase, ARecreatedDatabaseIsMigratedAndUsed) {
  Client node(node_url());
  node.submit("mail", "lost with the database");
  make_anew();
  node.submit("mail", "a");
  EXPECT_THAT(node.claim_specs("mail"), ElementsAre("a"));
}

TEST_P(OtherDatabase, TheTickNoticesTheChangeAndAllCallsWorkAgain) {
  Client node(node_url());
  const TickWish wish{.self = {.id = "worker-1"}, .wants_events = false, .awaited = {}};
  const auto tick = [&] { return patiently([&] { return node.store().cluster().tick(wish); }); };
  EXPECT_EQ(tick().value().moves, 0U);
  ASSERT_TRUE(node.store().tokens().tokens().ok());
  make_anew();
  EXPECT_EQ(tick().value().moves, 1U);
  EXPECT_TRUE(node.store().tokens().tokens().ok());
  EXPECT_TRUE(node.store().queues().queues().value().queues.empty());
}

// Each thread has its own queue, and its tasks say which. Some calls fail; what was acknowledged by the last database
// is there, and where it belongs.
TEST_P(OtherDatabase, UnderLoadEveryTaskIsInItsQueue) {
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
        const auto submitted = node.submit_once({.queue = queue, .spec = queue});
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
    restore("INSERT INTO queue (name, retention) VALUES ('takes a number', 0)");
  }
  let_each_submit_some();
  is_over = true;
  for (Thread& each : threads) each.thread.join();

  EXPECT_EQ(ask("SELECT count(*) FROM task LEFT JOIN queue ON queue.no = task.queue WHERE name IS DISTINCT FROM spec"),
            "0");
  EXPECT_EQ(ask("SELECT count(*) FROM task WHERE NOT EXISTS (SELECT FROM ready WHERE task.number BETWEEN lo AND hi"
                " AND ready.queue = task.queue)"),
            "0");
  std::string last;
  for (const Thread& each : threads) last += (last.empty() ? "'" : ", '") + each.last + "'";
  EXPECT_EQ(ask("SELECT count(*) FROM task WHERE id IN (" + last + ")"), std::to_string(kThreads));
}

TEST_P(OtherDatabase, CallsFailAsUnavailableUntilTheDatabaseIsUsable) {
  Client node(node_url());
  node.submit("mail", "lost with the database");
  make_anew();
  ask("CREATE TABLE horae_version (one boolean, version integer); INSERT INTO horae_version VALUES (true, 1000)");
  std::string last;
  for (int i = 0; i < 20; ++i) {  // more often than there are connections
    const auto submitted = node.submit_once({.queue = "mail", .spec = "a"});
    ASSERT_FALSE(submitted.ok());
    EXPECT_EQ(submitted.error().code, ErrorCode::kUnavailable) << submitted.error().message;
    last = submitted.error().message;
  }
  EXPECT_THAT(last, HasSubstr("1000"));
  ask("DROP TABLE horae_version");
  node.submit("mail", "a");
  EXPECT_THAT(node.claim_specs("mail"), ElementsAre("a"));
}

TEST(RestartedServer, CallsSucceedAfterARestart) {
  PostgresServer server({.durable = false, .settings = {}});
  Client node(server.make_database());
  node.submit("mail", "a");
  server.stop();
  server.start();
  ASSERT_TRUE(node.submit_once({.queue = "mail", .spec = "b"}).ok());
  server.stop();
  server.start();
  const auto claimed = node.claim_once("mail");
  ASSERT_TRUE(claimed.ok()) << claimed.error().message;
  EXPECT_THAT(Client::specs_of(claimed->at(0).tasks), ElementsAre("a", "b"));
}

// ---- What has begun is not run again ----

class DatabaseIdentityTest : public TestDatabase {
 protected:
  // Of a database that is gone, with all connections to it.
  DatabaseIdentityTest() {
    EXPECT_TRUE(database_.admit(*connect()).ok());
    test_server().drop_database(url());
    test_server().run_sql("CREATE DATABASE " + name(), "postgres");
  }

  Result<std::string> ask_pool() {
    return pool_.look<std::string>([](Transaction& transaction) -> Result<std::string> {
      const Rows rows = transaction.run({"one", "SELECT 'one'"});
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      return rows[0].text(0);
    });
  }

  int prepared_ = 0;
  int forgotten_ = 0;
  DatabaseIdentity database_{[this]() -> Result<std::string> {
                               ++prepared_;
                               return connect()->incarnation();
                             },
                             [this] { ++forgotten_; }};
  Pool pool_{url(), 2, {.check = [this](const Connection& each) { return database_.admit(each); }}};
};

TEST_F(DatabaseIdentityTest, RunsACallAgainThatHasNotBegun) {
  int runs = 0;
  const auto answer = database_.run([&] {
    ++runs;
    return ask_pool();
  });
  EXPECT_EQ(answer.value(), "one");
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(prepared_, 1);
  EXPECT_EQ(forgotten_, 1);
  EXPECT_EQ(database_.changes(), 1U);
}

TEST_F(DatabaseIdentityTest, DoesNotRunACallAgainThatHasBegun) {
  Pool elsewhere(url(), 1);
  int runs = 0;
  const auto call = [&]() -> Result<std::string> {
    ++runs;
    const auto begun = elsewhere.look<bool>([](Transaction& transaction) -> Result<bool> {
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      return true;
    });
    if (!begun.ok()) return begun.error();
    return ask_pool();
  };
  const auto answer = database_.run(call);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(forgotten_, 0);
  EXPECT_EQ(database_.run(call).value(), "one");
  EXPECT_EQ(forgotten_, 1);
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

// The queue is made again, with another number: no new task is in a queue that does not exist.
TEST_F(LostQueueRow, SubmitMakesTheQueueAgain) {
  const Instant later = Instant(std::chrono::hours(24 * 365 * 100));
  for (const std::optional<Instant> run_at : {std::optional<Instant>(), std::optional(later)}) {
    const auto submitted = node_.submit_once({.queue = "mail", .spec = "after", .run_at = run_at});
    ASSERT_TRUE(submitted.ok()) << submitted.error().message;
    EXPECT_EQ(ask("SELECT count(*) FROM place WHERE queue NOT IN (SELECT no FROM queue)"), "1")
        << "the one from before";
  }
  EXPECT_EQ(ask("SELECT count(*) FROM task"), "3");
}

TEST_F(LostQueueRow, ExchangeMakesTheQueueAgain) {
  SystemClock clock;
  SystemRandom random;
  UuidSource ids(clock, random);
  Bundle calls;
  const std::vector<Submission> submissions = {{.task = {.queue = "mail", .spec = "after"}, .new_id = ids.next()}};
  const std::vector<ClaimWish> wishes = {{.owner = "worker-1", .queues = {"mail"}, .token = ids.next()}};
  calls.submissions = submissions;
  calls.wishes = wishes;
  const auto done = node_.store().tasks().exchange(calls);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->leased.at(0).tasks.size(), 1U);
  EXPECT_EQ(ask("SELECT count(*) FROM place WHERE queue NOT IN (SELECT no FROM queue)"), "1") << "the one from before";
}

TEST_F(LostQueueRow, PromotesADueTaskWithoutTheRowOfItsQueue) {
  ask("INSERT INTO queue (no, name, retention) OVERRIDING SYSTEM VALUE VALUES (1000, 'other', 0)");
  ask("INSERT INTO scheduled (lo, hi, due, queue, priority, updated_at, attempt, tries)"
      " VALUES (1, 1, now() - interval '2 seconds', 1, 0, now(), 0, 0),"
      " (2, 2, now() - interval '1 second', 1000, 0, now(), 0, 0)");
  const auto promoted = node_.store().tasks().promote_due(10);
  ASSERT_TRUE(promoted.ok()) << promoted.error().message;
  EXPECT_EQ(ask("SELECT string_agg(lo::text, ' ' ORDER BY lo) FROM ready"), "1 2");
  EXPECT_EQ(ask("SELECT count(*) FROM scheduled"), "0");
}

}  // namespace
}  // namespace horae::postgres
