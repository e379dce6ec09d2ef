// A write that changes no row is never reported as done. Triggers let one write after the other change nothing.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "stores/sqlite/sqlite_store.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;
using std::literals::operator""h;
using std::literals::operator""s;

// A store with one task in each state, and the calls that write.
class World {
 public:
  World() {
    sqlite3_open((folder_.path() + "/horae.db").c_str(), &foreign_);
    (void)submit("ready");
    held_ = submit("held");
    lease_ = claim("held", Uuid{}).value().at(0);
    ended_ = submit("ended");
    (void)settle(Event::kComplete, claim("ended", Uuid{}).value().at(0));
  }
  ~World() { sqlite3_close(foreign_); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Store& store() { return *store_; }
  ManualClock& clock() { return clock_; }
  const LeasedTask& lease() const { return lease_; }
  const TaskId& held() const { return held_; }

  bool execute(const std::string& sql) {
    return sqlite3_exec(foreign_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  TaskId submit(const std::string& queue, NewTask task = {}) {
    task.queue = queue;
    task.spec = "{}";
    const std::vector<Submission> submissions = {{.task = std::move(task), .new_id = ids_.next()}};
    return store_->tasks().submit(submissions).value().at(0).id;
  }
  Result<std::vector<LeasedTask>> claim(const std::string& queue, const Uuid& token) {
    const std::vector<ClaimWish> wishes = {
        {.owner = "worker-1", .queues = {queue}, .max = 1, .token = token, .once = token != Uuid{}}};
    auto claimed = store_->tasks().claim(wishes);
    if (!claimed.ok()) return claimed.error();
    return claimed->at(0).tasks;
  }
  Result<std::vector<SettleOutcome>> settle(Event event, const LeasedTask& lease, Settlement said = {}) {
    said.event = event;
    said.id = lease.id;
    said.attempt = lease.attempt;
    said.owner = "worker-1";
    return store_->tasks().settle(std::vector{said});
  }
  Uuid new_token() { return ids_.next(); }

 private:
  TemporaryFolder folder_;
  ManualClock clock_;
  SystemRandom random_;
  UuidSource ids_{clock_, random_};
  std::unique_ptr<Store> store_ =
      std::move(open_sqlite_store("sqlite:" + folder_.path() + "/horae.db", clock_)).value();
  sqlite3* foreign_ = nullptr;
  TaskId held_, ended_;
  LeasedTask lease_;
};

template <typename T>
std::optional<Error> error_of(const Result<T>& result) {
  return result.ok() ? std::nullopt : std::optional(result.error());
}

struct Write {
  std::string ignored;  // "insert on task"
  std::string told;     // by the error
  std::function<std::optional<Error>(World&)> call;
};

std::optional<Error> submit_one(World& world, const std::string& queue) {
  const std::vector<Submission> submissions = {{.task = {.queue = queue, .spec = "{}"}, .new_id = world.new_token()}};
  return error_of(world.store().tasks().submit(submissions));
}

std::optional<Error> start_one(World& world) {
  const std::vector<Submission> submissions = {{.task = {.queue = "ready", .spec = "{}"},
                                                .new_id = world.new_token(),
                                                .start = Start{.owner = "worker-1", .token = world.new_token()}}};
  return error_of(world.store().tasks().submit(submissions));
}

std::optional<Error> promote_one(World& world) {
  (void)world.submit("later", {.run_at = world.clock().wall_now() + 1h});
  world.clock().advance(1h);
  return error_of(world.store().tasks().promote_due(10));
}

std::optional<Error> expire_one(World& world) {
  world.clock().advance(1h);
  const auto seen = world.store().tasks().look().value().stamp;
  if (auto stamped = world.store().tasks().extend_leases(seen); !stamped.ok()) return stamped.error();
  world.clock().advance(1h);
  const ExpireWish wish{.seen = world.store().tasks().look().value().stamp, .slack = 2h};
  return error_of(world.store().tasks().expire_leases(wish));
}

std::optional<Error> purge_all(World& world) {
  world.clock().advance(24h * 365);
  return error_of(world.store().tasks().purge(10));
}

std::optional<Error> configure(World& world, const QueueChange& change) {
  return error_of(world.store().queues().configure("ready", change));
}

std::optional<Error> ready_a_message(World& world) {
  const std::vector<NewMessage> messages = {{{.id = "m", .deadline = world.clock().wall_now()}}};
  const EnqueueWish wish{.delay_queue = "delayed", .stores_late = true, .messages = messages};
  if (auto sent = world.store().messages().enqueue(wish); !sent.ok()) return sent.error();
  return error_of(world.store().messages().turn({.delay_queue = "delayed", .horizon = 1h, .ready = {10, 1000}}));
}

std::vector<Write> writes() {
  const auto settle = [](Event event, Settlement said = {}) {
    return [event, said](World& world) { return error_of(world.settle(event, world.lease(), said)); };
  };
  const auto submit = [](World& world) { return submit_one(world, "ready"); };
  const auto new_queue = [](World& world) { return submit_one(world, "new"); };
  const auto claim = [](World& world) { return error_of(world.claim("ready", world.new_token())); };
  const auto create_token = [](World& world) {
    return error_of(world.store().tokens().create({.id = "t-1", .name = "n", .scope = QueueScope::of({"*"}).value()}));
  };
  return {
      {"insert on task", "was not stored", submit},
      {"insert on life", "submit_life", submit},
      {"update on queue", "writer_add_counts", submit},
      {"insert on queue", "writer_make_queue", new_queue},
      {"update on life", "submit_start", start_one},
      {"update on life", "claim_lease", claim},
      {"insert on claim_token", "claim_note_served", claim},
      {"update on life", "effects_extend", settle(Event::kHeartbeat)},
      {"insert on checkpoint", "effects_save_checkpoint", settle(Event::kHeartbeat, {.checkpoint = "1"})},
      {"update on life", "effects_finish", settle(Event::kComplete)},
      {"insert on error", "effects_save_error", settle(Event::kAbort, {.errors = {{"code", "", ""}}})},
      {"update on life", "effects_give_back", settle(Event::kYield)},
      {"insert on trail", "trail_insert", settle(Event::kYield)},
      {"update on life", "upkeep_promote", promote_one},
      {"update on control", "upkeep_set_stamp", expire_one},
      {"delete on task", "purge_task", purge_all},
      {"update on control", "purge_raise_high_number", purge_all},
      {"update on control", "queues_take_worker",
       [](World& world) { return error_of(world.store().queues().new_worker_id()); }},
      {"update on queue", "queues_set_configured", [](World& world) { return configure(world, {.paused = true}); }},
      {"update on queue", "queues_set_configured", [](World& world) { return configure(world, {.ageing_rate = 7}); }},
      {"update on queue", "queues_set_configured", [](World& world) { return configure(world, {.retention = 1h}); }},
      {"insert on token", "tokens_insert", create_token},
      {"update on control", "tokens_next_version", create_token},
      {"insert on message", "message", ready_a_message},
      {"update on message", "message", ready_a_message},
  };
}

TEST(RowsChanged, AWriteThatChangesNothingIsAnErrorThatNamesTheStatement) {
  for (const Write& write : writes()) {
    SCOPED_TRACE(write.ignored + ": " + write.told);
    World world;
    ASSERT_TRUE(
        world.execute(fmt::format("create trigger ignored before {} begin select raise(ignore); end", write.ignored)));
    const auto failed = write.call(world);
    EXPECT_TRUE(failed);
    if (!failed) continue;
    EXPECT_EQ(failed->code, ErrorCode::kInternal);
    EXPECT_THAT(failed->message, HasSubstr(write.told));
    EXPECT_THAT(failed->message, HasSubstr("another program"));
    ASSERT_TRUE(world.execute("drop trigger ignored"));
    EXPECT_FALSE(write.call(world)) << "nothing of the failed transaction was kept";
  }
}

// Two nodes on one file, before there was a lock on the file itself: both gave the next task the same number.
TEST(RowsChanged, ATaskWhoseNumberIsTakenIsNotReportedAsCreated) {
  World world;
  ASSERT_TRUE(world.execute(
      "insert into task select number + 1, randomblob(16), queue, null, priority, created_at, max_attempts, "
      "retry_kind, "
      "retry_delay, retry_factor, retry_cap, retry_jitter, digest, spec from task order by number desc limit 1"));
  const auto refused = submit_one(world, "ready");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, ErrorCode::kInternal);
  EXPECT_THAT(refused->message, HasSubstr("is taken by another task"));
  EXPECT_FALSE(submit_one(world, "ready")) << "the next number is free";
}

}  // namespace
}  // namespace horae::testing
