// A write that changes another number of rows than it must is never reported as done. Triggers let one write after the
// other change nothing.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "stores/postgres/postgres_store.h"
#include "stores/postgres/test_database.h"

namespace horae::postgres {
namespace {

using ::testing::HasSubstr;
using std::literals::operator""h;

class RowsChanged : public TestDatabase {
 protected:
  static Sql sql(std::string text, Changes changes) { return {text, text, changes}; }

  std::unique_ptr<Store> open() {
    return std::move(open_postgres_store(url(), {.allow_unsafe = {"fsync", "full_page_writes", "synchronous_commit"}}))
        .value();
  }

  void ignore(const std::string& write) {
    ask(fmt::format("CREATE TRIGGER ignored BEFORE {} FOR EACH ROW EXECUTE FUNCTION ignore()", write));
  }
  void heed(const std::string& write) { ask("DROP TRIGGER ignored" + write.substr(write.find(" on"))); }

  Result<std::vector<SubmitOutcome>> submit(Store& store, NewTask task = {}) {
    task.queue = queue_;
    task.spec = "{}";
    const std::vector<Submission> submissions = {{.task = std::move(task), .new_id = ids_.next()}};
    return store.tasks().submit(submissions);
  }
  Result<std::vector<ClaimOutcome>> claim(Store& store, bool once = false) {
    const std::vector<ClaimWish> wishes = {
        {.owner = "worker-1", .queues = {queue_}, .max = 1, .token = ids_.next(), .once = once}};
    return store.tasks().claim(wishes);
  }
  LeasedTask lease(Store& store) {
    EXPECT_TRUE(submit(store).ok());
    return claim(store).value().at(0).tasks.at(0);
  }
  Result<std::vector<SettleOutcome>> settle(Store& store, Event event, const LeasedTask& lease, Settlement said = {}) {
    said.event = event;
    said.id = lease.id;
    said.attempt = lease.attempt;
    said.owner = "worker-1";
    return store.tasks().settle(std::vector{said});
  }

  SystemClock clock_;
  SystemRandom random_;
  UuidSource ids_{clock_, random_};
  std::string queue_ = "work";
};

template <typename T>
std::optional<Error> error_of(const Result<T>& result) {
  return result.ok() ? std::nullopt : std::optional(result.error());
}

constexpr const char* kIgnore = "CREATE FUNCTION ignore() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'";

TEST_F(RowsChanged, AWrongNumberFailsTheTransaction) {
  ask("CREATE TABLE t (x bigint)");
  ask(kIgnore);
  const auto connection = connect();
  const Sql insert = sql("INSERT INTO t SELECT unnest($1::bigint[])", Changes::kEach);
  const Sql update = sql("UPDATE t SET x = 7 WHERE x = $1", Changes::kOne);
  const std::vector<std::int64_t> numbers = {1, 2, 3};
  {
    Transaction transaction(*connection);
    transaction.send(insert, Params::of(numbers));
    transaction.send(update, Params::of(std::int64_t{2}));
    EXPECT_TRUE(transaction.commit().ok());
  }
  ask("CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW WHEN (new.x = 2) EXECUTE FUNCTION ignore()");
  {
    Transaction transaction(*connection);
    transaction.send(insert, Params::of(numbers));
    EXPECT_FALSE(transaction.wait());
    ASSERT_TRUE(transaction.failed());
    EXPECT_EQ(transaction.failure()->error.code, ErrorCode::kInternal);
    EXPECT_THAT(transaction.failure()->error.message, HasSubstr(insert.name + " changed 2 rows and not 3"));
  }
  EXPECT_EQ(ask("SELECT count(*) FROM t"), "3") << "it was noticed before COMMIT";
  for (const auto kind : {Transaction::Kind::kChange, Transaction::Kind::kOneTrip}) {
    Transaction transaction(*connection, kind);
    transaction.send(update, Params::of(std::int64_t{99}));
    EXPECT_EQ(transaction.commit().error().code, ErrorCode::kInternal) << "not reported as done";
  }
  EXPECT_TRUE(connection->usable());
}

TEST_F(RowsChanged, NoOperationReportsWhatWasNotWritten) {
  const auto store = open();
  ask(kIgnore);
  (void)store->queues().configure("work", {}).value();
  struct Write {
    std::string ignored;
    std::function<std::optional<Error>(Store&, const LeasedTask&)> call;
  };
  const auto submits = [this](NewTask task = {}) {
    return [this, task](Store& each, const LeasedTask&) { return error_of(submit(each, task)); };
  };
  const auto claims = [this](bool once) {
    return [this, once](Store& each, const LeasedTask&) { return error_of(claim(each, once)); };
  };
  const auto settles = [this](Event event, Settlement said = {}) {
    return [this, event, said](Store& each, const LeasedTask& lease) {
      return error_of(settle(each, event, lease, said));
    };
  };
  const auto creates_token = [](Store& each, const LeasedTask&) {
    return error_of(each.tokens().create({.id = "t-1", .name = "n", .scope = QueueScope::of({"*"}).value()}));
  };
  const auto pauses = [](Store& each, const LeasedTask&) {
    return error_of(each.queues().configure("work", {.paused = false}));
  };
  const std::vector<Write> writes = {
      {"insert on task", submits()},
      {"insert on ready", submits()},
      {"insert on scheduled", submits({.run_at = clock_.wall_now() + 1h})},
      {"insert on task_key", submits({.key = "k"})},
      {"insert on running", claims(false)},
      {"delete on ready", claims(false)},
      {"insert on running", claims(true)},
      {"delete on ready", claims(true)},
      {"insert on claim_token", claims(true)},
      {"update on running", settles(Event::kHeartbeat)},
      {"insert on progress", settles(Event::kHeartbeat, {.checkpoint = "1"})},
      {"delete on running", settles(Event::kComplete)},
      {"insert on finished", settles(Event::kComplete)},
      {"insert on tally", settles(Event::kComplete)},
      {"insert on trail", settles(Event::kYield)},
      {"insert on ready", settles(Event::kRelease)},
      {"update on control", creates_token},
      {"insert on token", creates_token},
      {"update on queue", pauses},
  };
  for (const Write& write : writes) {
    SCOPED_TRACE(write.ignored);
    queue_ = "queue-" + std::to_string(&write - writes.data());  // what was committed beside it stays in there
    const LeasedTask held = lease(*store);
    (void)submit(*store);
    ignore(write.ignored);
    EXPECT_TRUE(write.call(*store, held));
    heed(write.ignored);
  }
}

}  // namespace
}  // namespace horae::postgres
