#include "bench/sqlite_floor.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>

#include "base/check.h"
#include "stores/sqlite/migrations.h"

namespace horae::bench {
namespace {

// A bare statement, without the layers of the store.
class Bare {
 public:
  Bare(sqlite3* database, const char* sql) {
    HORAE_CHECK(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) == SQLITE_OK,
                sqlite3_errmsg(database));
  }
  ~Bare() { sqlite3_finalize(statement_); }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  sqlite3_stmt* get() { return statement_; }
  void integer(int place, std::int64_t value) { sqlite3_bind_int64(statement_, place, value); }
  void text(int place, std::string_view value) {
    sqlite3_bind_text(statement_, place, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  void blob(int place, const void* bytes, std::size_t size) {
    sqlite3_bind_blob(statement_, place, bytes, static_cast<int>(size), SQLITE_STATIC);
  }
  void run() {
    HORAE_CHECK(sqlite3_step(statement_) == SQLITE_DONE, "the floor's statements succeed");
    sqlite3_reset(statement_);
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

sqlite3* open(const std::string& path) {
  sqlite3* database = nullptr;
  HORAE_CHECK(sqlite3_open(path.c_str(), &database) == SQLITE_OK, "the floor's database opens");
  const auto execute = [&](const std::string& sql) {
    HORAE_CHECK(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK, sqlite3_errmsg(database));
  };
  execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536");
  for (const Migration& migration : sqlite_migrations()) execute(std::string(migration.sql));
  execute("INSERT INTO queue (no, name, paused, base, rate, since, retention) VALUES (1, 'bench', 0, 0, 1, 0, 0)");
  return database;
}

}  // namespace

struct SqliteFloor::Handles {
  explicit Handles(const std::string& path) : database(open(path)) {}
  ~Handles() {
    // The statements are destroyed before this: members go in reverse order, and close_v2 waits for the rest.
    sqlite3_close_v2(database);
  }

  sqlite3* database;
  Bare begin{database, "BEGIN IMMEDIATE"};
  Bare commit{database, "COMMIT"};
  Bare task{
      database,
      "INSERT INTO task (number, id, queue, priority, created_at, max_attempts, retry_kind, retry_delay, retry_factor,"
      " retry_cap, retry_jitter, digest, spec) VALUES (?, ?, 1, ?, ?, 0, 0, 1000000000, 2.0, 3600000000000, 0.0, ?, "
      "?)"};
  Bare life{
      database,
      "INSERT INTO life (number, queue, state, run_at, rank, ready_second, attempt, tries, progress, has_checkpoint,"
      " updated_at) VALUES (?, 1, 1, ?, ?, ?, 0, 0, 0.0, 0, ?)"};
  Bare heads{database,
             "SELECT number FROM life WHERE state = 1 AND queue = 1 ORDER BY rank, ready_second, number LIMIT ?"};
  Bare lease{database,
             "UPDATE life SET state = 2, attempt = attempt + 1, owner = 'worker-1', token = ?, lease = 10000000000,"
             " lease_expires = ?, started_at = ?, updated_at = ? WHERE number = ?"};
  Bare payload{database, "SELECT id, priority, spec FROM task WHERE number = ?"};
  Bare complete{
      database,
      "UPDATE life SET state = 3, progress = 1.0, result = '{}', token = NULL, lease = NULL, lease_expires = NULL,"
      " ended_event = 4, ended_owner = owner, updated_at = ?"
      " WHERE number = ? AND state = 2 AND attempt = 1 AND owner = 'worker-1'"};
};

SqliteFloor::SqliteFloor(const std::string& path) : handles_(std::make_unique<Handles>(path)) {}

SqliteFloor::~SqliteFloor() = default;

void SqliteFloor::submit(std::span<const Submission> submissions) {
  const std::int64_t second = ++now_ / 1'000'000;
  handles_->begin.run();
  for (const Submission& submission : submissions) {
    const std::int64_t number = next_number_++;
    Bare& task = handles_->task;
    task.integer(1, number);
    task.blob(2, submission.id().bytes.data(), submission.id().bytes.size());
    task.integer(3, submission.task.priority);
    task.integer(4, now_);
    task.blob(5, submission.id().bytes.data(), submission.id().bytes.size());  // instead of a digest
    task.text(6, submission.task.spec);
    task.run();
    Bare& life = handles_->life;
    life.integer(1, number);
    life.integer(2, now_);
    life.integer(3, second - submission.task.priority);
    life.integer(4, second);
    life.integer(5, now_);
    life.run();
  }
  handles_->commit.run();
}

std::vector<std::int64_t> SqliteFloor::claim(int max) {
  constexpr std::array<char, 16> kToken{};
  ++now_;
  std::vector<std::int64_t> numbers;
  std::vector<std::string> specs;
  handles_->begin.run();
  Bare& heads = handles_->heads;
  heads.integer(1, max);
  while (sqlite3_step(heads.get()) == SQLITE_ROW) numbers.push_back(sqlite3_column_int64(heads.get(), 0));
  sqlite3_reset(heads.get());
  for (const std::int64_t number : numbers) {
    Bare& lease = handles_->lease;
    lease.blob(1, kToken.data(), kToken.size());
    lease.integer(2, now_ + 10'000'000);
    lease.integer(3, now_);
    lease.integer(4, now_);
    lease.integer(5, number);
    lease.run();
    Bare& payload = handles_->payload;
    payload.integer(1, number);
    HORAE_CHECK(sqlite3_step(payload.get()) == SQLITE_ROW, "a claimed task is there");
    specs.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(payload.get(), 2)));
    sqlite3_reset(payload.get());
  }
  handles_->commit.run();
  return numbers;
}

void SqliteFloor::complete(std::span<const std::int64_t> numbers) {
  ++now_;
  handles_->begin.run();
  for (const std::int64_t number : numbers) {
    handles_->complete.integer(1, now_);
    handles_->complete.integer(2, number);
    handles_->complete.run();
  }
  handles_->commit.run();
}

}  // namespace horae::bench
