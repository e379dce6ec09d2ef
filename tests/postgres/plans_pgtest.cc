// The statements of each moment find their rows by indexes, whatever the planner believes of the tables: empty ones
// that were analyzed, small ones and large ones. Asked of the statistics, which count each scan and each row.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/postgres/invariants.h"
#include "tests/support/postgres_server.h"

namespace horae::testing {
namespace {

constexpr int kArchived = 100'000;
constexpr int kMany = 20'000;
constexpr int kBatch = 1'000;
constexpr int kRounds = 50;
constexpr const char* kWorker = "worker-1";

class Plans : public ::testing::Test {
 protected:
  Plans() { open(); }

  void open() { store_ = std::move(open_postgres_store(url_, quick_store_options())).value(); }

  // The statistics of a session are complete when it has ended.
  void close() {
    store_.reset();
    const char* others =
        "select count(*) from pg_stat_activity where datname = current_database()"
        " and backend_type = 'client backend' and pid <> pg_backend_pid() and state <> 'idle in transaction'";
    while (database_.value(others) != "0") database_.pause();
  }

  std::vector<Submission> tasks(int count, const std::string& queue) {
    std::vector<Submission> batch;
    for (int i = 0; i < count; ++i) {
      batch.push_back({.task = {.queue = queue, .priority = i % 2, .spec = "{}"}, .new_id = ids_.next()});
    }
    return batch;
  }

  std::vector<LeasedTask> claim(int max, const std::string& queue) {
    const ClaimWish wish{.owner = kWorker, .queues = {queue}, .max = max, .token = ids_.next()};
    return store_->tasks().claim(std::vector{wish}).value()[0].tasks;
  }

  void settle(const std::vector<LeasedTask>& leases, Event event) {
    std::vector<Settlement> batch;
    for (const LeasedTask& lease : leases) {
      batch.push_back(
          {.event = event, .id = lease.id, .number = lease.number, .attempt = lease.attempt, .owner = kWorker});
    }
    (void)store_->tasks().settle(batch).value();
  }

  void archive(int count) {
    for (int i = 0; i < count; i += kBatch) {
      (void)store_->tasks().submit(tasks(kBatch, "work")).value();
      settle(claim(kBatch, "work"), Event::kComplete);
    }
  }

  // Ready and running tasks of another queue, each in a range of its own.
  void crowd(int count) {
    for (int i = 0; i < count; i += kBatch) {
      (void)store_->tasks().submit(tasks(kBatch, "crowd")).value();
    }
    for (int i = 0; i < count / 2; i += kBatch) (void)claim(kBatch, "crowd");
    administrate(
        "create temp table single as select * from ready; delete from ready;"
        "insert into ready select number, number, queue, rank, at, updated_at, attempt, tries, max_attempts, "
        "recurring, run_at,"
        " ended_event, ended_owner from (select *, generate_series(lo, hi) as number from single) as s; drop table "
        "single;"
        "create temp table single as select * from running; delete from running;"
        "insert into running select number, number, queue, rank, at, attempt, tries, owner, token, length, started_at, "
        "expires,"
        " max_attempts, recurring, run_at, ended_event, ended_owner"
        " from (select *, generate_series(lo, hi) as number from single) as s; drop table single");
  }

  void live_a_little() {
    for (int i = 0; i < kRounds; ++i) {
      const auto batch = tasks(4, "work");
      (void)store_->tasks().submit(batch).value();
      const auto leases = claim(3, "work");
      settle(leases, Event::kHeartbeat);
      settle(leases, Event::kComplete);
      std::vector<TaskId> ids;
      std::vector<CancelWish> wishes;
      for (const Submission& each : batch) {
        ids.push_back(each.id());
        wishes.push_back({.id = each.id(), .reason = std::nullopt});
      }
      (void)store_->tasks().get(ids).value();
      for (const TaskId& id : ids) (void)store_->cluster().ahead(id, 100).value();
      (void)store_->tasks().cancel(wishes).value();
      (void)store_->tasks().promote_due(10).value();
      (void)store_->tasks().look().value();
      const NodeRecord self{.id = "worker-1", .address = "", .version = "", .started_at = {}, .last_seen = {}};
      (void)store_->cluster().tick({.self = self, .awaited = {"work", "crowd"}}).value();
      live_with_messages(i);
    }
  }

  // Due and undue messages of a delay queue.
  std::vector<NewMessage> messages(int count, const std::string& prefix) {
    std::vector<NewMessage> batch;
    for (int i = 0; i < count; ++i) {
      const auto ahead = std::chrono::hours(i % 2 == 0 ? -1 : 1);
      batch.push_back({{.id = prefix + std::to_string(i), .deadline = clock_.wall_now() + ahead, .value = "v"}});
    }
    return batch;
  }

  void live_with_messages(int round) {
    MessageStore& store = store_->messages();
    const auto batch = messages(4, "m-" + std::to_string(round) + "-");
    const Uuid node = ids_.next();
    (void)store.enqueue({.delay_queue = "delay", .stores_late = true, .messages = batch}).value();
    const TurnWish take{.delay_queue = "delay", .node = node, .ready = {.max = 10, .max_bytes = 1000}};
    std::vector<Readying> fired;
    const TurnOutcome taken = store.turn(take).value();
    for (const ReadiedMessage& each : taken.readied) fired.push_back(each.readying);
    (void)store.reset("delay", std::span(fired).first(1)).value();
    (void)store.held_by({.delay_queue = "delay", .node = node, .limits = {10, 1000}}).value();
    (void)store.stuck({.delay_queue = "delay", .max = 10}).value();
    const std::vector<GiveBack> failed = {{.readying = fired.back(), .delay = std::chrono::seconds(1)}};
    fired.pop_back();
    (void)store.turn({.delay_queue = "delay", .node = node, .fired = fired, .failed = failed}).value();
    const std::vector<std::string> ids = {batch[1].message.id};
    (void)store.get("delay", ids).value();
    (void)store.move("delay", std::vector<MoveWish>{{ids[0], clock_.wall_now()}}).value();
    (void)store.cancel("delay", ids).value();
    (void)store.list({.delay_queue = "delay", .limit = 5}).value();
    (void)store.counts("delay", Duration::zero(), 5).value();
    (void)store.look(std::vector<std::string>{"delay", "empty"}).value();
  }

  void live_whole_lives() {
    for (int i = 0; i < kRounds; ++i) {
      (void)store_->tasks().submit(tasks(4, "work")).value();
      settle(claim(4, "work"), Event::kComplete);
    }
  }

  std::int64_t scans_of(const std::string& index) {
    return std::stoll(
        database_.value("select idx_scan from pg_stat_user_indexes where indexrelname = '" + index + "'"));
  }

  std::vector<std::string> scanned_tables() {
    std::vector<std::string> lines;
    const auto rows = database_.ask(
        "select relname, seq_scan from pg_stat_user_tables"
        " where relname ~ '^(task|finished|trail)(_d[0-9]+)?$' or relname in ('ready', 'running', 'scheduled', "
        "'message') order "
        "by 1");
    for (const auto& row : rows) lines.push_back(row[0] + " " + row[1]);
    return lines;
  }

  // Sessions begin anew, as their plans do: with what the last analyze saw. They keep them while they work.
  template <typename Work>
  void expect_no_scans(const std::string& when, Work work) {
    close();
    const auto before = scanned_tables();
    open();
    live_a_little();
    work();
    close();
    EXPECT_EQ(scanned_tables(), before) << when;
    open();
  }
  void expect_no_scans(const std::string& when) {
    expect_no_scans(when, [] {});
  }

  // In a session of its own, whose statistics are complete afterwards.
  void administrate(const std::string& sql) { (void)Observer(url_).ask(sql); }

  PostgresServer server_{{.durable = false, .settings = {"autovacuum = off"}}};
  const std::string url_ = server_.make_database();
  std::unique_ptr<Store> store_;
  Observer database_{url_};
  SystemClock clock_;
  SeededRandom random_{1};
  UuidSource ids_{clock_, random_};
};

TEST_F(Plans, NeedNoSequentialScans) {
  expect_no_scans("nothing was ever analyzed");
  administrate("truncate ready, running, scheduled, task, finished, trail, message");
  administrate("analyze");
  expect_no_scans("everything was empty at the last analyze, and has grown", [this] {
    archive(kArchived);
    live_a_little();
  });
  administrate("vacuum analyze");
  expect_no_scans("many have finished, none is alive");
  crowd(kMany);
  expect_no_scans("many are alive, and were not analyzed");
  administrate("analyze");
  expect_no_scans("many are alive");
}

// While a session holds a snapshot, entries of what is gone stay in the indexes, and the tables look empty: then
// reading a whole index seems as cheap as finding one row in another.
TEST_F(Plans, FindRowsAmongManyDeadOnes) {
  Observer holder(url_);
  (void)holder.ask("begin isolation level repeatable read");
  (void)holder.ask("select count(*) from control");
  constexpr int kGone = 4'000;
  for (int i = 0; i < kGone / 2; ++i) {
    (void)store_->tasks().submit(tasks(2, "work")).value();
    settle(claim(2, "work"), Event::kComplete);
  }
  administrate("vacuum analyze");
  close();
  const auto before = scans_of("running_expires");
  open();
  live_whole_lives();
  close();
  EXPECT_EQ(scans_of("running_expires"), before) << "leases are found by their numbers";
}

// A table that was full once and looks empty: its primary key has kept its size, while the other index is small, and so
// seems the quicker way to a number. It grows again, and plans are kept.
TEST_F(Plans, ClaimsDoNotReadTheWholeReadyOrder) {
  crowd(kMany);
  administrate("delete from ready");
  administrate("vacuum ready");
  administrate("reindex index ready_order");
  administrate("analyze ready");
  close();
  auto before = scans_of("ready_order");
  open();
  live_whole_lives();
  close();
  // The first claim of a session takes the general path, and may look again.
  EXPECT_LE(scans_of("ready_order") - before, kRounds + 2)
      << "a claim looks for the head of the queue there, and no more";

  before = scans_of("ready_order");
  open();
  for (int i = 0; i < kRounds; ++i) {
    (void)store_->tasks().submit(tasks(4, "work")).value();
    const std::vector<ClaimWish> several = {{.owner = kWorker, .queues = {"work"}, .max = 2, .token = ids_.next()},
                                            {.owner = kWorker, .queues = {"work"}, .max = 2, .token = ids_.next()}};
    (void)store_->tasks().claim(several).value();
  }
  close();
  EXPECT_LE(scans_of("ready_order") - before, 2 * kRounds) << "several that claim together look there once or twice";
}

// A day whose partitions were made ahead, and analyzed while they were empty.
TEST_F(Plans, FindFinishedTasksByNumberInADayThatWasEmpty) {
  administrate("analyze");
  archive(kBatch);
  close();
  const auto scans = [this] {
    return database_.value("select sum(idx_scan) from pg_stat_user_indexes where indexrelname ~ '^finished_d.*queue'");
  };
  const std::string before = scans();
  open();
  for (int i = 0; i < kRounds; ++i) {
    const auto batch = tasks(2, "work");
    (void)store_->tasks().submit(batch).value();
    settle(claim(2, "work"), Event::kComplete);
    (void)store_->tasks().get(std::vector{batch[0].id(), batch[1].id()}).value();
  }
  close();
  EXPECT_EQ(scans(), before);
}

// Gets and cancels know the number of a task, so the indexes by rank and by time are not for them.
TEST_F(Plans, FindWaitingTasksByNumberAmongManyDeadOnes) {
  Observer holder(url_);
  (void)holder.ask("begin isolation level repeatable read");
  (void)holder.ask("select count(*) from control");
  const auto wait_and_cancel = [this](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      auto batch = tasks(4, "work");
      batch[0].task.run_at = batch[1].task.run_at = clock_.wall_now() + std::chrono::hours(1);
      (void)store_->tasks().submit(batch).value();
      std::vector<TaskId> ids;
      std::vector<CancelWish> wishes;
      for (const Submission& each : batch) {
        ids.push_back(each.id());
        wishes.push_back({.id = each.id(), .reason = std::nullopt});
      }
      (void)store_->tasks().get(ids).value();
      (void)store_->tasks().cancel(wishes).value();
    }
  };
  wait_and_cancel(1'000);
  administrate("vacuum analyze");
  close();
  const char* scans =
      "select sum(idx_scan) from pg_stat_user_indexes where indexrelname in ('ready_order', 'scheduled_due')";
  const std::string before = database_.value(scans);
  open();
  wait_and_cancel(kRounds);
  close();
  EXPECT_EQ(database_.value(scans), before);
}

// Tasks that are due, or leases that end, at one moment: all of them compare alike but for their numbers.
class PlansAmongTies : public Plans {
 protected:
  static constexpr int kTies = 100'000;
  static constexpr int kBatches = 10;

  PlansAmongTies() {
    (void)store_->tasks().submit(tasks(1, "work")).value();
    settle(claim(1, "work"), Event::kComplete);
  }

  // Each in a range of its own, without a task: of those nothing is asked here. Their numbers are of a day that exists.
  void fill(const std::string& insert) {
    administrate("truncate ready, running, scheduled, finished; insert into " + insert +
                 " from (select n, n + (max(day.no) << 40) as lo, (select max(no) from queue) as queue,"
                 " timestamptz '2026-01-01' as moment from day, generate_series(1, " +
                 std::to_string(kTies) + ") as n group by n) as tie; update control set stamp = horae_now()");
  }
  void delay_many() {
    fill(
        "scheduled (lo, hi, due, queue, priority, updated_at, attempt, tries)"
        " select lo, lo, moment, queue, 0, moment, 0, 0");
  }
  void lease_many() {
    fill(
        "running (lo, hi, queue, rank, at, attempt, tries, owner, token, length, started_at, expires)"
        " select lo, lo, queue, 0, 0, 1, 0, 'worker-1', lpad(to_hex(n), 32, '0')::uuid, 1, moment, moment");
  }

  // Entries of the table's indexes and, if it had to be, rows of the table itself.
  std::int64_t rows_read(const std::string& table) {
    return std::stoll(
        database_.value("select coalesce(sum(idx_tup_read), 0) + (select seq_tup_read from pg_stat_user_tables"
                        " where relname = '" +
                        table + "') from pg_stat_user_indexes where relname = '" + table + "'"));
  }

  // How many rows of the table it reads, in new sessions.
  template <typename Work>
  std::int64_t rows_read_by(const std::string& table, Work work) {
    close();
    const std::int64_t before = rows_read(table);
    open();
    work();
    close();
    const std::int64_t read = rows_read(table) - before;
    open();
    return read;
  }

  // `work` takes a part of what `fill` has made. It must not matter what the planner knows.
  template <typename Fill, typename Work>
  void expect_few_rows(const std::string& table, std::int64_t most, Fill fill, Work work) {
    administrate("truncate " + table);
    administrate("analyze " + table);
    fill();
    EXPECT_LE(rows_read_by(table, work), most) << "it was empty at the last analyze";
    fill();
    administrate("analyze " + table);
    EXPECT_LE(rows_read_by(table, work), most) << "everything was analyzed";
  }
};

// Each is found, and found again to be deleted, and its entries may be met by those who come after. All of them in each
// batch would be a million.
TEST_F(PlansAmongTies, PromotingABatchReadsNoMoreThanTheBatch) {
  expect_few_rows(
      "scheduled", 8 * kBatches * kBatch, [this] { delay_many(); },
      [this] {
        for (int i = 0; i < kBatches; ++i) EXPECT_EQ(store_->tasks().promote_due(kBatch).value().promoted, kBatch);
      });
}

TEST_F(PlansAmongTies, ATurnReadsNoMoreThanItsMessages) {
  const auto fill_messages = [this] {
    administrate(
        "truncate message; insert into message (delay_queue, id, deadline, due, headers) select 'delay', 'm-' || n,"
        " moment, moment, '[]' from generate_series(1, " +
        std::to_string(kTies) + ") as n, (select timestamptz '2026-01-01' as moment) as tie");
  };
  expect_few_rows("message", 8 * kBatches * kBatch, fill_messages, [this] {
    std::vector<Readying> fired;
    for (int i = 0; i < kBatches; ++i) {
      const auto outcome =
          store_->messages()
              .turn({.delay_queue = "delay", .fired = fired, .ready = {.max = kBatch, .max_bytes = 1 << 20}})
              .value();
      EXPECT_EQ(outcome.readied.size(), kBatch);
      fired.clear();
      for (const ReadiedMessage& each : outcome.readied) fired.push_back(each.readying);
    }
  });
}

// A session keeps the plans that it made while the table was empty and had never been analyzed.
TEST_F(PlansAmongTies, PlansForMessagesHoldWhenTheTableGrows) {
  for (int i = 0; i < 20; ++i) live_with_messages(i);
  administrate(
      "insert into message (delay_queue, id, deadline, due, headers) select 'delay', 'm-' || n, moment, moment, '[]'"
      " from generate_series(1, " +
      std::to_string(kTies) + ") as n, (select timestamptz '2026-01-01' as moment) as tie");
  // What another session inserts below the floor of a node is found within a second; what the node stores, at once.
  std::vector<NewMessage> first = messages(1, "first-");
  first[0].message.deadline = std::chrono::sys_days(std::chrono::year(2025) / 12 / 31);
  (void)store_->messages().enqueue({.delay_queue = "delay", .stores_late = true, .messages = first}).value();
  for (int i = 0; i < kBatches; ++i) {
    (void)store_->messages().enqueue({.delay_queue = "delay", .messages = messages(kBatch, std::to_string(i) + "-")});
    std::vector<Readying> fired;
    const TurnWish take{.delay_queue = "delay", .ready = {.max = kBatch, .max_bytes = 1 << 20}};
    const TurnOutcome taken = store_->messages().turn(take).value();
    for (const ReadiedMessage& each : taken.readied) fired.push_back(each.readying);
    EXPECT_EQ(fired.size(), kBatch);
    (void)store_->messages().turn({.delay_queue = "delay", .fired = fired}).value();
  }
  close();
  EXPECT_LE(rows_read("message"), 16 * kBatches * kBatch);
}

TEST_F(PlansAmongTies, ExpiringABatchReadsNoMoreThanTheBatch) {
  expect_few_rows(
      "running", 8 * kBatches * kBatch, [this] { lease_many(); },
      [this] {
        for (int i = 0; i < kBatches; ++i) {
          const ExpireWish wish{
              .seen = store_->tasks().look().value().stamp, .slack = std::chrono::hours(1), .max = kBatch};
          EXPECT_EQ(store_->tasks().expire_leases(wish).value().expired.size(), kBatch);
        }
      });
}

TEST_F(PlansAmongTies, APageOfScheduledTasksReadsNoMoreThanThePage) {
  expect_few_rows(
      "scheduled", 2 * kBatches * kBatch, [this] { delay_many(); },
      [this] {
        ListQuery query{.kind = ListKind::kScheduled, .limit = kBatch};
        for (int i = 0; i < kBatches; ++i) {
          const Page page = store_->tasks().list(query).value();
          ASSERT_NE(page.next, "");
          query.cursor = page.next;
        }
      });
}

TEST_F(PlansAmongTies, APageOfFinishedTasksOfAQueueReadsNoMoreThanThePage) {
  const std::string outcomes = "finished_d" + database_.value("select max(no) from day");
  expect_few_rows(
      outcomes, 2 * kBatches * kBatch,
      [&] {
        fill(outcomes +
             " (lo, hi, queue, state, attempt, tries, finished_at) select lo, lo, queue, 3, 1, 0, horae_now()");
      },
      [this] {
        ListQuery query{.kind = ListKind::kFinished, .queue = "work", .limit = kBatch};
        for (int i = 0; i < kBatches; ++i) {
          const Page page = store_->tasks().list(query).value();
          ASSERT_NE(page.next, "");
          query.cursor = page.next;
        }
      });
}

// What has just ended is far from its retention, and there may be millions of it.
TEST_F(PlansAmongTies, PurgingReadsLittleOfWhatIsRecent) {
  const std::string outcomes = "finished_d" + database_.value("select max(no) from day");
  fill(outcomes + " (lo, hi, queue, state, attempt, tries, finished_at) select lo, lo, queue, 3, 1, 0, horae_now()");
  // As a vacuum does: the index sums up blocks that are full.
  administrate("select brin_summarize_new_values((select indexrelid from pg_stat_user_indexes where relname = '" +
               outcomes + "' and indexrelname ~ 'finished_at'))");
  close();
  const auto rows_fetched = [&] {
    return std::stoll(database_.value("select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relname = '" +
                                      outcomes + "'"));
  };
  const auto before = rows_fetched();
  open();
  for (int i = 0; i < kBatches; ++i) EXPECT_EQ(store_->tasks().purge(kBatch).value().purged, 0U);
  close();
  EXPECT_LE(rows_fetched() - before, kBatch);
}

// A token that serves once knows where its tasks are.
TEST_F(PlansAmongTies, TheLeasesOfATokenAreFoundByIt) {
  expect_few_rows(
      "running", kRounds * 4,
      [this] {
        lease_many();
        administrate("truncate claim_token");
        administrate("insert into claim_token select token, now(), min(lo), max(hi) from running group by token");
      },
      [this] {
        for (int i = 0; i < kRounds; ++i) {
          const Uuid token{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, static_cast<std::uint8_t>(i)}};
          EXPECT_EQ(store_->tasks().leases_of(token).value().size(), 1U);
        }
      });
}

}  // namespace
}  // namespace horae::testing
