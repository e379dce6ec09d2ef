// Which layout should the embedded SQLite store have? Measures whole lives of tasks (submit, claim, complete) in four:
//
//   A one row           one wide row per task, updated in place
//   B payload and life  an immutable task row, and a narrow row that is updated in place
//   C moving rows       an immutable task row; ready, lease and outcome rows that are deleted here and inserted there
//   D ranges            like C, but a row represents a run of consecutive numbers
//
// All are durable: WAL, synchronous=FULL, one connection, one transaction for each batch of submits, claims or settles.
// Every measurement has a fresh database with kArchived finished tasks and kBacklog ready ones, and ends with a check
// that no task was lost. Layouts alternate, so that a noisy machine affects all of them equally.
//
//   g++ -std=c++20 -O2 bench/sqlite_layouts.cc -lsqlite3 -lfmt -o /tmp/sqlite_layouts
//   /tmp/sqlite_layouts [rounds, 5] [layout for the variants, B] [only the comparisons whose title contains this]
#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Uuid = std::array<unsigned char, 16>;

constexpr std::int64_t kArchived = 50'000;
constexpr std::int64_t kBacklog = 4'000;
constexpr std::int64_t kQueues = 2;
constexpr std::int64_t kLeaseMs = 10'000;
constexpr std::int64_t kStartMs = 1'750'000'000'000;
constexpr std::int64_t kMsBetweenTasks = 10;  // The backlog spans 40 s: ageing lets old tasks overtake important ones.
constexpr std::int64_t kTasksInLease = 64;    // The width of the mask in layout D.
constexpr std::array<std::int64_t, 4> kPriorities = {40, 50, 60, 70};
constexpr std::string_view kOwner = "worker-7";
constexpr std::string_view kResult = R"({"ok":true})";
constexpr Uuid kToken = {0xc1, 0xa1, 0x07, 0x4e, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

struct NewTask {
  Uuid id;
  std::int64_t queue;
  std::int64_t priority;
  std::string spec;
};

struct Claimed {
  std::int64_t number;
  std::int64_t attempt;
  std::int64_t lease;  // The lowest number of its lease in layout D, the task's own number elsewhere.
  std::int64_t queue;
  Uuid id;
  std::string spec;
};

void must(bool holds, std::string_view what, sqlite3* db = nullptr) {
  if (holds) return;
  fmt::print(stderr, "failed: {} ({})\n", what, db == nullptr ? "check" : sqlite3_errmsg(db));
  std::abort();
}

// ---- A thin wrapper of the sqlite3 C interface ----

class Database {
 public:
  explicit Database(const std::string& path) { must(sqlite3_open(path.c_str(), &db_) == SQLITE_OK, path, db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { must(sqlite3_close(db_) == SQLITE_OK, "close", db_); }

  void exec(const std::string& sql) {
    must(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK, sql, db_);
  }
  // Pages written to the WAL since the connection was opened.
  std::int64_t pages_written() {
    int now = 0;
    int highest = 0;
    must(sqlite3_db_status(db_, SQLITE_DBSTATUS_CACHE_WRITE, &now, &highest, 0) == SQLITE_OK, "status", db_);
    return now;
  }
  sqlite3* handle() { return db_; }

 private:
  sqlite3* db_ = nullptr;
};

class Statement {
 public:
  Statement(Database& db, const std::string& sql) : db_(db.handle()) {
    const int code = sqlite3_prepare_v3(db_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
    must(code == SQLITE_OK, sql, db_);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  // The values must outlive the last step.
  template <typename... Values>
  void bind(const Values&... values) {
    int index = 0;
    (bind_one(++index, values), ...);
  }
  // True if there is a row. False at the end; then the statement is ready for its next use.
  bool step() {
    const int code = sqlite3_step(statement_);
    must(code == SQLITE_ROW || code == SQLITE_DONE, sqlite3_sql(statement_), db_);
    if (code == SQLITE_DONE) reset();
    return code == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(statement_); }
  // Runs a change to its end. Returns how many rows it changed.
  template <typename... Values>
  int change(const Values&... values) {
    bind(values...);
    must(!step(), "a change without rows");
    return sqlite3_changes(db_);
  }
  std::int64_t number(int column) { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }
  Uuid uuid(int column) {
    Uuid id;
    must(sqlite3_column_bytes(statement_, column) == 16, "an id has 16 bytes");
    std::copy_n(static_cast<const unsigned char*>(sqlite3_column_blob(statement_, column)), 16, id.begin());
    return id;
  }

 private:
  void bind_one(int index, std::int64_t value) { sqlite3_bind_int64(statement_, index, value); }
  void bind_one(int index, std::string_view value) {
    sqlite3_bind_text(statement_, index, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  void bind_one(int index, const Uuid& value) { sqlite3_bind_blob(statement_, index, value.data(), 16, SQLITE_STATIC); }

  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

// ---- The layouts ----

// The caller opens and ends the transactions. Reading first and changing afterwards is safe: BEGIN IMMEDIATE holds the
// only write lock. States: 0 scheduled, 1 ready, 2 running, 3 completed.
class Layout {
 public:
  Layout(Database& db, const std::string& schema) { db.exec(schema); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  virtual ~Layout() = default;

  // Leaves out tasks whose id is taken.
  virtual void submit(std::span<const NewTask> tasks, std::int64_t now_ms) = 0;
  // In the order (rank, ready_second, number).
  virtual std::vector<Claimed> claim(std::int64_t queue, std::int64_t max, std::int64_t now_ms) = 0;
  // Returns how many were accepted: those whose attempt is running and belongs to kOwner.
  virtual std::int64_t settle(std::span<const Claimed> tasks, std::int64_t now_ms) = 0;
  // Selects the numbers of ready, running and finished tasks; the running ones by way of the sweeper's index.
  virtual std::string counts_sql() const = 0;

 protected:
  // False if the id is taken. Else the task has next_number_, which the caller then moves on.
  bool insert_task(Statement& insert, const NewTask& task, std::int64_t now_ms) const {
    return insert.change(next_number_, task.id, task.queue, task.priority, now_ms, std::string_view(task.spec)) == 1;
  }
  static std::int64_t rank_of(const NewTask& task, std::int64_t now_ms) { return now_ms / 1000 - task.priority; }

  std::int64_t next_number_ = 1;
};

// The part that B, C and D write once and never change.
constexpr const char* kTaskTable = R"(
    CREATE TABLE task(number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, queue INTEGER, priority INTEGER,
      created INTEGER, options TEXT, spec TEXT);)";
constexpr const char* kInsertTask =
    "INSERT INTO task(number, id, queue, priority, created, spec) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO NOTHING";

// The common part of A and B: `table` holds the state and is updated in place; `source` joins id and spec.
class InPlace : public Layout {
 public:
  InPlace(Database& db, const std::string& schema, const std::string& table, const std::string& source)
      : Layout(db, schema + fmt::format("CREATE INDEX ready ON {0}(queue, rank, ready_second, number) WHERE state = 1;"
                                        "CREATE INDEX lease ON {0}(expires) WHERE state = 2;"
                                        "CREATE INDEX due ON {0}(run_at) WHERE state = 0;",
                                        table)),
        table_(table),
        heads_(db, fmt::format("SELECT number, attempt + 1, task.id, task.spec FROM {} WHERE state = 1 AND {}.queue = ?"
                               " ORDER BY rank, ready_second, number LIMIT ?",
                               source, table)),
        lease_(db, fmt::format("UPDATE {} SET state = 2, attempt = ?2, owner = ?3, token = ?4, expires = ?5,"
                               " started = ?6, updated = ?6 WHERE number = ?1 AND state = 1",
                               table)),
        settle_(db, fmt::format("UPDATE {} SET state = 3, token = NULL, expires = NULL, progress = 1.0,"
                                " updated = ?4, result = ?5"
                                " WHERE number = ?1 AND state = 2 AND attempt = ?2 AND owner = ?3",
                                table)) {}

  std::vector<Claimed> claim(std::int64_t queue, std::int64_t max, std::int64_t now_ms) override {
    std::vector<Claimed> claimed;
    heads_.bind(queue, max);
    while (heads_.step()) {
      const std::int64_t number = heads_.number(0);
      claimed.push_back({number, heads_.number(1), number, queue, heads_.uuid(2), heads_.text(3)});
    }
    for (const Claimed& task : claimed) {
      const int leased = lease_.change(task.number, task.attempt, kOwner, kToken, now_ms + kLeaseMs, now_ms);
      must(leased == 1, "a ready task is leased");
    }
    return claimed;
  }
  std::int64_t settle(std::span<const Claimed> tasks, std::int64_t now_ms) override {
    std::int64_t accepted = 0;
    for (const Claimed& task : tasks) accepted += settle_.change(task.number, task.attempt, kOwner, now_ms, kResult);
    return accepted;
  }
  std::string counts_sql() const override {
    return fmt::format(
        "SELECT (SELECT count(*) FROM {0} INDEXED BY ready WHERE state = 1),"
        " (SELECT count(*) FROM {0} INDEXED BY lease WHERE state = 2 AND expires > 0),"
        " (SELECT count(*) FROM {0} WHERE state = 3)",
        table_);
  }

 private:
  std::string table_;
  Statement heads_, lease_, settle_;
};

class OneRow : public InPlace {
 public:
  explicit OneRow(Database& db)
      : InPlace(db, R"(
          CREATE TABLE task(number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, queue INTEGER, priority INTEGER,
            state INTEGER, rank INTEGER, ready_second INTEGER, run_at INTEGER, attempt INTEGER, tries INTEGER,
            owner TEXT, token BLOB, expires INTEGER, progress REAL, created INTEGER, started INTEGER, updated INTEGER,
            result TEXT, options TEXT, spec TEXT);)",
                "task", "task INDEXED BY ready"),
        insert_(db,
                "INSERT INTO task(number, id, queue, priority, state, rank, ready_second, attempt, tries, created,"
                " updated, spec) VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, 0, 0, ?7, ?7, ?8)"
                " ON CONFLICT(id) DO NOTHING") {}

  void submit(std::span<const NewTask> tasks, std::int64_t now_ms) override {
    for (const NewTask& task : tasks) {
      next_number_ += insert_.change(next_number_, task.id, task.queue, task.priority, rank_of(task, now_ms),
                                     now_ms / 1000, now_ms, std::string_view(task.spec));
    }
  }

 private:
  Statement insert_;
};

class PayloadAndLife : public InPlace {
 public:
  explicit PayloadAndLife(Database& db)
      : InPlace(db, std::string(kTaskTable) + R"(
          CREATE TABLE life(number INTEGER PRIMARY KEY, state INTEGER, queue INTEGER, rank INTEGER,
            ready_second INTEGER, run_at INTEGER, attempt INTEGER, tries INTEGER, owner TEXT, token BLOB,
            expires INTEGER, progress REAL, started INTEGER, updated INTEGER, result TEXT);)",
                "life", "life INDEXED BY ready CROSS JOIN task USING (number)"),
        insert_task_(db, kInsertTask),
        insert_life_(db,
                     "INSERT INTO life(number, state, queue, rank, ready_second, attempt, tries, updated)"
                     " VALUES (?, 1, ?, ?, ?, 0, 0, ?)") {}

  void submit(std::span<const NewTask> tasks, std::int64_t now_ms) override {
    for (const NewTask& task : tasks) {
      if (!insert_task(insert_task_, task, now_ms)) continue;
      insert_life_.change(next_number_++, task.queue, rank_of(task, now_ms), now_ms / 1000, now_ms);
    }
  }

 private:
  Statement insert_task_, insert_life_;
};

class MovingRows : public Layout {
 public:
  explicit MovingRows(Database& db)
      : Layout(db, std::string(kTaskTable) + R"(
          CREATE TABLE ready(queue INTEGER, rank INTEGER, ready_second INTEGER, number INTEGER, attempt INTEGER,
            tries INTEGER, PRIMARY KEY (queue, rank, ready_second, number)) WITHOUT ROWID;
          CREATE TABLE lease(number INTEGER PRIMARY KEY, attempt INTEGER, tries INTEGER, queue INTEGER, rank INTEGER,
            ready_second INTEGER, owner TEXT, token BLOB, expires INTEGER, progress REAL, started INTEGER);
          CREATE INDEX lease_expires ON lease(expires);
          CREATE TABLE outcome(number INTEGER PRIMARY KEY, state INTEGER, attempt INTEGER, owner TEXT, started INTEGER,
            finished INTEGER, result TEXT);)"),
        insert_task_(db, kInsertTask),
        insert_ready_(db, "INSERT INTO ready VALUES (?, ?, ?, ?, 0, 0)"),
        heads_(db,
               "SELECT number, attempt + 1, id, spec, rank, ready_second, tries"
               " FROM ready CROSS JOIN task USING (number)"
               " WHERE ready.queue = ? ORDER BY rank, ready_second, number LIMIT ?"),
        insert_lease_(db, "INSERT INTO lease VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0.0, ?)"),
        delete_ready_(db, "DELETE FROM ready WHERE queue = ? AND rank = ? AND ready_second = ? AND number = ?"),
        insert_outcome_(db,
                        "INSERT INTO outcome SELECT number, 3, attempt, owner, started, ?4, ?5 FROM lease"
                        " WHERE number = ?1 AND attempt = ?2 AND owner = ?3"),
        delete_lease_(db, "DELETE FROM lease WHERE number = ?") {}

  void submit(std::span<const NewTask> tasks, std::int64_t now_ms) override {
    for (const NewTask& task : tasks) {
      if (!insert_task(insert_task_, task, now_ms)) continue;
      insert_ready_.change(task.queue, rank_of(task, now_ms), now_ms / 1000, next_number_++);
    }
  }
  std::vector<Claimed> claim(std::int64_t queue, std::int64_t max, std::int64_t now_ms) override {
    std::vector<Claimed> claimed;
    std::vector<std::array<std::int64_t, 3>> places;  // rank, ready_second, tries
    heads_.bind(queue, max);
    while (heads_.step()) {
      const std::int64_t number = heads_.number(0);
      claimed.push_back({number, heads_.number(1), number, queue, heads_.uuid(2), heads_.text(3)});
      places.push_back({heads_.number(4), heads_.number(5), heads_.number(6)});
    }
    for (std::size_t i = 0; i < claimed.size(); ++i) {
      const auto [rank, ready_second, tries] = places[i];
      const Claimed& task = claimed[i];
      must(delete_ready_.change(queue, rank, ready_second, task.number) == 1, "a ready task is leased");
      insert_lease_.change(task.number, task.attempt, tries, queue, rank, ready_second, kOwner, kToken,
                           now_ms + kLeaseMs, now_ms);
    }
    return claimed;
  }
  std::int64_t settle(std::span<const Claimed> tasks, std::int64_t now_ms) override {
    std::int64_t accepted = 0;
    for (const Claimed& task : tasks) {
      if (insert_outcome_.change(task.number, task.attempt, kOwner, now_ms, kResult) == 0) continue;
      accepted += delete_lease_.change(task.number);
    }
    return accepted;
  }
  std::string counts_sql() const override {
    return "SELECT (SELECT count(*) FROM ready JOIN task USING (number)),"
           " (SELECT count(*) FROM lease INDEXED BY lease_expires WHERE expires > 0),"
           " (SELECT count(*) FROM outcome JOIN task USING (number))";
  }

 private:
  Statement insert_task_, insert_ready_, heads_, insert_lease_, delete_ready_, insert_outcome_, delete_lease_;
};

// Bit i of a lease's mask represents the task lo + i. A task is identified by its lease (lo, attempt) and its bit.
class Ranges : public Layout {
 public:
  explicit Ranges(Database& db)
      : Layout(db, std::string(kTaskTable) + R"(
          CREATE TABLE ready(queue INTEGER, rank INTEGER, ready_second INTEGER, lo INTEGER, hi INTEGER, attempt INTEGER,
            tries INTEGER, PRIMARY KEY (queue, rank, ready_second, lo)) WITHOUT ROWID;
          CREATE TABLE lease(lo INTEGER, attempt INTEGER, open INTEGER, tries INTEGER, queue INTEGER, rank INTEGER,
            ready_second INTEGER, owner TEXT, token BLOB, expires INTEGER, started INTEGER,
            PRIMARY KEY (lo, attempt)) WITHOUT ROWID;
          CREATE INDEX lease_expires ON lease(expires);
          CREATE TABLE outcome(lo INTEGER PRIMARY KEY, hi INTEGER, state INTEGER, attempt INTEGER, owner TEXT,
            started INTEGER, finished INTEGER, result TEXT);)"),
        insert_task_(db, kInsertTask),
        insert_ready_(db, "INSERT INTO ready VALUES (?, ?, ?, ?, ?, ?, ?)"),
        heads_(db,
               "SELECT rank, ready_second, lo, hi, attempt, tries FROM ready WHERE queue = ?"
               " ORDER BY rank, ready_second, lo LIMIT ?"),
        delete_ready_(db, "DELETE FROM ready WHERE queue = ? AND rank = ? AND ready_second = ? AND lo = ?"),
        lease_(db, "INSERT INTO lease VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
        tasks_(db, "SELECT number, id, spec FROM task WHERE number BETWEEN ? AND ?"),
        settle_all_(db,
                    "DELETE FROM lease WHERE lo = ?1 AND attempt = ?2 AND owner = ?3 AND open = ?4"
                    " RETURNING started"),
        settle_some_(db,
                     "UPDATE lease SET open = open & ~?4 WHERE lo = ?1 AND attempt = ?2 AND owner = ?3"
                     " AND open & ?4 = ?4 RETURNING started"),
        outcome_(db, "INSERT INTO outcome VALUES (?, ?, 3, ?, ?, ?, ?, ?)") {}

  void submit(std::span<const NewTask> tasks, std::int64_t now_ms) override {
    std::vector<const NewTask*> sorted;
    for (const NewTask& task : tasks) sorted.push_back(&task);
    const auto alike = [](const NewTask* task) { return std::pair(task->queue, task->priority); };
    std::ranges::stable_sort(sorted, {}, alike);
    for (std::size_t i = 0; i < sorted.size();) {
      const NewTask& first = *sorted[i];
      const std::int64_t lo = next_number_;
      for (; i < sorted.size() && alike(sorted[i]) == alike(&first); ++i) {
        next_number_ += insert_task(insert_task_, *sorted[i], now_ms) ? 1 : 0;
      }
      if (next_number_ == lo) continue;  // All of them were there already.
      insert_ready_.change(first.queue, rank_of(first, now_ms), now_ms / 1000, lo, next_number_ - 1, 0L, 0L);
    }
  }
  std::vector<Claimed> claim(std::int64_t queue, std::int64_t max, std::int64_t now_ms) override {
    std::vector<Claimed> claimed;
    for (const Run& run : take_runs(queue, max)) {
      for (std::int64_t lo = run.lo; lo <= run.hi; lo += kTasksInLease) {
        const std::int64_t hi = std::min(run.hi, lo + kTasksInLease - 1);
        lease_.change(lo, run.attempt + 1, mask_of(0, hi - lo), run.tries, queue, run.rank, run.ready_second, kOwner,
                      kToken, now_ms + kLeaseMs, now_ms);
        tasks_.bind(lo, hi);
        while (tasks_.step()) {
          claimed.push_back({tasks_.number(0), run.attempt + 1, lo, queue, tasks_.uuid(1), tasks_.text(2)});
        }
      }
    }
    return claimed;
  }
  std::int64_t settle(std::span<const Claimed> tasks, std::int64_t now_ms) override {
    std::vector<const Claimed*> sorted;
    for (const Claimed& task : tasks) sorted.push_back(&task);
    const auto lease_of = [](const Claimed* task) { return std::pair(task->lease, task->attempt); };
    std::ranges::sort(sorted, {}, lease_of);
    std::int64_t accepted = 0;
    for (std::size_t i = 0; i < sorted.size();) {
      const auto lease = lease_of(sorted[i]);
      std::uint64_t mask = 0;
      for (; i < sorted.size() && lease_of(sorted[i]) == lease; ++i) mask |= 1ULL << (sorted[i]->number - lease.first);
      accepted += settle_mask(lease.first, lease.second, mask, now_ms);
    }
    return accepted;
  }
  std::string counts_sql() const override {
    return "SELECT (SELECT count(*) FROM ready JOIN task ON number BETWEEN lo AND hi),"
           " (SELECT count(*) FROM lease INDEXED BY lease_expires JOIN task"
           "   ON number BETWEEN lo AND lo + 63 AND open >> (number - lo) & 1 WHERE expires > 0),"
           " (SELECT count(*) FROM outcome JOIN task ON number BETWEEN lo AND hi)";
  }

 private:
  struct Run {
    std::int64_t rank, ready_second, lo, hi, attempt, tries;
  };

  static std::int64_t mask_of(std::int64_t first_bit, std::int64_t last_bit) {
    return static_cast<std::int64_t>((~0ULL >> (kTasksInLease - 1 - (last_bit - first_bit))) << first_bit);
  }
  // Takes the first runs, up to `max` tasks in total; the rest of the last one stays ready.
  std::vector<Run> take_runs(std::int64_t queue, std::int64_t max) {
    std::vector<Run> runs;
    std::int64_t wanted = max;
    heads_.bind(queue, max);
    while (wanted > 0 && heads_.step()) {
      runs.push_back({.rank = heads_.number(0),
                      .ready_second = heads_.number(1),
                      .lo = heads_.number(2),
                      .hi = heads_.number(3),
                      .attempt = heads_.number(4),
                      .tries = heads_.number(5)});
      wanted -= runs.back().hi - runs.back().lo + 1;
    }
    heads_.reset();
    for (const Run& run : runs) {
      must(delete_ready_.change(queue, run.rank, run.ready_second, run.lo) == 1, "a ready run is taken");
    }
    if (wanted < 0) {
      Run& last = runs.back();
      last.hi += wanted;
      insert_ready_.change(queue, last.rank, last.ready_second, last.hi + 1, last.hi - wanted, last.attempt,
                           last.tries);
    }
    return runs;
  }
  // If the lease does not hold all of the mask, each task gets its own verdict.
  std::int64_t settle_mask(std::int64_t lo, std::int64_t attempt, std::uint64_t mask, std::int64_t now_ms) {
    for (Statement* settle : {&settle_all_, &settle_some_}) {
      settle->bind(lo, attempt, kOwner, static_cast<std::int64_t>(mask));
      if (!settle->step()) continue;
      const std::int64_t started = settle->number(0);
      settle->step();
      write_outcomes(lo, attempt, mask, started, now_ms);
      return std::popcount(mask);
    }
    if (std::has_single_bit(mask)) return 0;
    std::int64_t accepted = 0;
    for (; mask != 0; mask &= mask - 1) accepted += settle_mask(lo, attempt, mask & -mask, now_ms);
    return accepted;
  }
  void write_outcomes(std::int64_t lo, std::int64_t attempt, std::uint64_t mask, std::int64_t started,
                      std::int64_t now_ms) {
    while (mask != 0) {
      const int first = std::countr_zero(mask);
      const int count = std::countr_one(mask >> first);
      std::string results = "[";
      for (int i = 0; i < count; ++i) results.append(kResult).append(",");
      results.back() = ']';
      outcome_.change(lo + first, lo + first + count - 1, attempt, kOwner, started, now_ms, std::string_view(results));
      mask &= ~static_cast<std::uint64_t>(mask_of(first, first + count - 1));
    }
  }

  Statement insert_task_, insert_ready_, heads_, delete_ready_, lease_, tasks_, settle_all_, settle_some_, outcome_;
};

std::unique_ptr<Layout> make_layout(char letter, Database& db) {
  if (letter == 'A') return std::make_unique<OneRow>(db);
  if (letter == 'B') return std::make_unique<PayloadAndLife>(db);
  if (letter == 'C') return std::make_unique<MovingRows>(db);
  must(letter == 'D', "a layout is A, B, C or D");
  return std::make_unique<Ranges>(db);
}

// ---- A life ----

struct Setup {
  std::string name;
  char layout;
  std::int64_t batch;
  int page_size = 4096;
  int autocheckpoint = 1000;
  int cache_kib = 65536;
  bool counters = false;   // Keep ready, running and finished per queue, in the same transaction.
  bool scattered = false;  // Settle tasks in random order out of the last four claims, not claim by claim.
  std::size_t spec_bytes = 200;
};

// A store under load; clock and arrival of tasks depend on the seed only.
class World {
 public:
  World(const Setup& setup, const std::string& path, std::uint64_t seed) : setup_(setup), db_(path), random_(seed) {
    db_.exec(
        fmt::format("PRAGMA page_size = {}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                    "PRAGMA wal_autocheckpoint = {}; PRAGMA cache_size = -{};"
                    "CREATE TABLE queue(no INTEGER PRIMARY KEY, ready INTEGER, running INTEGER, finished INTEGER);"
                    "INSERT INTO queue VALUES (0, 0, 0, 0), (1, 0, 0, 0);",
                    setup.page_size, setup.autocheckpoint, setup.cache_kib));
    layout_ = make_layout(setup.layout, db_);
    begin_ = std::make_unique<Statement>(db_, "BEGIN IMMEDIATE");
    commit_ = std::make_unique<Statement>(db_, "COMMIT");
    count_ = std::make_unique<Statement>(
        db_, "UPDATE queue SET ready = ready + ?2, running = running + ?3, finished = finished + ?4 WHERE no = ?1");
  }

  std::vector<NewTask> make_tasks(std::int64_t count) {
    std::vector<NewTask> tasks;
    for (std::int64_t i = 0; i < count; ++i, ++arrived_) {
      const std::int64_t ms = kStartMs + arrived_ * kMsBetweenTasks;
      NewTask task{{}, arrived_ % kQueues, kPriorities[random_() % kPriorities.size()], {}};
      for (unsigned char& byte : task.id) byte = static_cast<unsigned char>(random_());
      for (std::size_t b = 0; b < 6; ++b) task.id[b] = static_cast<unsigned char>(ms >> (40 - 8 * b));
      task.id[6] = static_cast<unsigned char>(0x70 | (task.id[6] & 0x0f));
      task.id[8] = static_cast<unsigned char>(0x80 | (task.id[8] & 0x3f));
      task.spec = fmt::format(R"({{"kind":"mail","to":"user-{}@example.org","body":")", random_());
      task.spec.resize(setup_.spec_bytes - 2, 'x');
      task.spec += R"("})";
      tasks.push_back(std::move(task));
    }
    return tasks;
  }
  void submit(std::span<const NewTask> tasks) {
    now_ms_ += static_cast<std::int64_t>(tasks.size()) * kMsBetweenTasks;
    begin_->change();
    layout_->submit(tasks, now_ms_);
    count(tasks, 1, 0, 0);
    commit_->change();
  }
  std::vector<Claimed> claim(std::int64_t queue, std::int64_t max) {
    begin_->change();
    std::vector<Claimed> claimed = layout_->claim(queue, max, now_ms_);
    count(std::span<const Claimed>(claimed), -1, 1, 0);
    commit_->change();
    for (const Claimed& task : claimed) {
      for (const unsigned char byte : task.id) order_ = order_ * 31 + byte;
    }
    return claimed;
  }
  std::int64_t settle(std::span<const Claimed> tasks) {
    begin_->change();
    const std::int64_t accepted = layout_->settle(tasks, now_ms_);
    count(tasks, 0, -1, 1);
    commit_->change();
    return accepted;
  }
  // One life for each task on average: the tasks go in, as many of those waiting are claimed, and as many are settled.
  void live(std::span<const NewTask> tasks) {
    const std::int64_t batch = setup_.batch;
    for (std::size_t done = 0; done < tasks.size(); done += static_cast<std::size_t>(batch)) {
      submit(tasks.subspan(done, static_cast<std::size_t>(batch)));
      std::vector<Claimed> claimed = claim(claims_++ % kQueues, batch);
      must(static_cast<std::int64_t>(claimed.size()) == batch, "the backlog fills every claim");
      std::ranges::move(claimed, std::back_inserter(held_));
      if (static_cast<std::int64_t>(held_.size()) < batch * (setup_.scattered ? 4 : 1)) continue;
      if (setup_.scattered) std::ranges::shuffle(held_, random_);
      must(settle(std::span(held_).last(static_cast<std::size_t>(batch))) == batch, "each settle is accepted");
      held_.resize(held_.size() - static_cast<std::size_t>(batch));
      finished_ += batch;
    }
  }
  // Archive and backlog, without waiting for the disk. The last checkpoint is durable again, so that the measurement
  // does not pay for it; it leaves the WAL at its working size.
  void fill() {
    db_.exec("PRAGMA synchronous = OFF");
    submit(make_tasks(kBacklog));
    live(make_tasks(kArchived));
    db_.exec("PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(RESTART)");
  }
  void check_counts(std::int64_t ready, std::int64_t running, std::int64_t finished) {
    Statement counts(db_, layout_->counts_sql());
    must(counts.step(), "counts");
    must(counts.number(0) == ready && counts.number(1) == running && counts.number(2) == finished,
         fmt::format("layout {}: {} ready, {} running, {} finished", setup_.layout, counts.number(0), counts.number(1),
                     counts.number(2)));
  }
  void check_nothing_lost() { check_counts(kBacklog, static_cast<std::int64_t>(held_.size()), finished_); }
  std::int64_t arrived() const { return arrived_; }
  std::uint64_t order() const { return order_; }  // A digest of the ids in the order of their claims.
  Database& db() { return db_; }

 private:
  template <typename Task>
  void count(std::span<const Task> tasks, std::int64_t ready, std::int64_t running, std::int64_t finished) {
    if (!setup_.counters) return;
    for (std::int64_t queue = 0; queue < kQueues; ++queue) {
      const std::int64_t n = std::ranges::count(tasks, queue, &Task::queue);
      if (n > 0) count_->change(queue, n * ready, n * running, n * finished);
    }
  }

  Setup setup_;
  Database db_;
  std::mt19937_64 random_;
  std::unique_ptr<Layout> layout_;
  std::unique_ptr<Statement> begin_, commit_, count_;
  std::vector<Claimed> held_;
  std::int64_t arrived_ = 0, claims_ = 0, finished_ = 0, now_ms_ = kStartMs;
  std::uint64_t order_ = 0;
};

// Checks that the layouts are correct before their speed is measured.
void prove(char layout) {
  World world({.name = "", .layout = layout, .batch = 1}, ":memory:", 1);
  const std::vector<NewTask> tasks = world.make_tasks(400);
  world.submit(tasks);
  world.submit(tasks);  // The same ids again: nothing new.
  world.check_counts(400, 0, 0);
  std::vector<Claimed> claimed = world.claim(0, 30);
  Claimed stale = claimed[5];
  ++stale.attempt;
  must(world.settle(std::span(&stale, 1)) == 0, "another attempt is refused");
  must(world.settle(std::span(claimed).subspan(7, 1)) == 1, "one task of a claim is settled");
  must(world.settle(std::span(claimed).subspan(7, 1)) == 0, "and not twice");
  world.check_counts(370, 29, 1);
  must(world.settle(claimed) == 29, "the remaining tasks are settled");
  world.check_counts(370, 0, 30);
}

// ---- Measuring ----

struct Measure {
  double lives_per_second, cpu_us, wal_bytes, file_bytes;
  std::uint64_t order;
};

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

std::int64_t lives_at(std::int64_t batch) { return batch == 1 ? 2'000 : batch == 10 ? 10'000 : 20'000; }

Measure measure(const Setup& setup, const std::filesystem::path& folder, std::uint64_t seed) {
  const std::filesystem::path path = folder / "tasks.db";
  Measure result{};
  {
    World world(setup, path, seed);
    world.fill();
    const std::vector<NewTask> tasks = world.make_tasks(lives_at(setup.batch));
    const auto lives = static_cast<double>(tasks.size());
    const std::int64_t pages = world.db().pages_written();
    const double cpu = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    world.live(tasks);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    result.lives_per_second = lives / elapsed.count();
    result.cpu_us = (cpu_seconds() - cpu) * 1e6 / lives;
    constexpr int kFrameHeader = 24;
    const std::int64_t frames = world.db().pages_written() - pages;
    result.wal_bytes = static_cast<double>(frames * (setup.page_size + kFrameHeader)) / lives;
    world.check_nothing_lost();
    world.db().exec("PRAGMA wal_checkpoint(TRUNCATE)");
    result.file_bytes = static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(world.arrived());
    result.order = world.order();
  }
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix);
  return result;
}

double quantile(std::vector<double> values, double at) {
  std::ranges::sort(values);
  const double place = at * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (place - static_cast<double>(low));
}

template <typename Field>
std::vector<double> column(const std::vector<Measure>& measures, Field field) {
  std::vector<double> values;
  for (const Measure& one : measures) values.push_back(one.*field);
  return values;
}

// The ratio compares measurements of the same round, with the first setup as 1.
void compare(std::string_view title, const std::vector<Setup>& setups, int rounds,
             const std::filesystem::path& folder) {
  std::vector<std::vector<Measure>> measures(setups.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < setups.size(); ++i) {
      measures[i].push_back(measure(setups[i], folder, static_cast<std::uint64_t>(round)));
      must(measures[i].back().order == measures[0].back().order, "all claim in the same order");
    }
  }
  fmt::print("\n{}\n{:<26}{:>9}{:>18}{:>8}{:>10}{:>12}{:>12}\n", title, "", "lives/s", "quartiles", "ratio", "CPU us",
             "WAL bytes", "file bytes");
  for (std::size_t i = 0; i < setups.size(); ++i) {
    const std::vector<double> speed = column(measures[i], &Measure::lives_per_second);
    std::vector<double> ratios = speed;
    for (std::size_t round = 0; round < ratios.size(); ++round) ratios[round] /= measures[0][round].lives_per_second;
    fmt::print("{:<26}{:>9.0f}{:>18}{:>8.2f}{:>10.1f}{:>12.0f}{:>12.0f}\n", setups[i].name, quantile(speed, 0.5),
               fmt::format("{:.0f}-{:.0f}", quantile(speed, 0.25), quantile(speed, 0.75)), quantile(ratios, 0.5),
               quantile(column(measures[i], &Measure::cpu_us), 0.5),
               quantile(column(measures[i], &Measure::wal_bytes), 0.5),
               quantile(column(measures[i], &Measure::file_bytes), 0.5));
  }
  std::fflush(stdout);
}

std::vector<Setup> all_layouts(Setup base) {
  std::vector<Setup> setups;
  for (const auto& [letter, name] : {std::pair('A', "A one row"), std::pair('B', "B payload and life"),
                                     std::pair('C', "C moving rows"), std::pair('D', "D ranges")}) {
    base.layout = letter;
    base.name = name;
    setups.push_back(base);
  }
  return setups;
}

std::vector<Setup> variants(const Setup& base) {
  std::vector<Setup> setups(5, base);
  setups[0].name = fmt::format("{} as above", base.layout);
  setups[1].name = "page_size 8192";
  setups[1].page_size = 8192;
  setups[2].name = "wal_autocheckpoint 4000";
  setups[2].autocheckpoint = 4000;
  setups[3].name = "counters per queue";
  setups[3].counters = true;
  setups[4].name = "cache 2 MiB, not 64";
  setups[4].cache_kib = 2048;
  return setups;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const char best = argc > 2 ? argv[2][0] : 'B';
  const std::string_view only = argc > 3 ? argv[3] : "";
  for (const char letter : {'A', 'B', 'C', 'D'}) prove(letter);

  std::string folder = "sqlite_layouts.XXXXXX";
  must(mkdtemp(folder.data()) != nullptr && rounds > 0, "a folder below the current one, and one round at least");
  const auto run = [&](const std::string& title, const std::vector<Setup>& setups) {
    if (title.find(only) != std::string::npos) compare(title, setups, rounds, folder);
  };
  for (const std::int64_t batch : {1, 10, 100, 1000}) {
    run(fmt::format("layouts, batch {}", batch), all_layouts({.name = "", .layout = 'A', .batch = batch}));
  }
  for (const std::int64_t batch : {10, 100}) {
    run(fmt::format("scattered settles, batch {}", batch),
        all_layouts({.name = "", .layout = 'A', .batch = batch, .scattered = true}));
  }
  run("specs of 4,000 bytes, batch 100", all_layouts({.name = "", .layout = 'A', .batch = 100, .spec_bytes = 4000}));
  for (const std::int64_t batch : {1, 100, 1000}) {
    run(fmt::format("variants, batch {}", batch), variants({.name = "", .layout = best, .batch = batch}));
  }
  std::filesystem::remove_all(folder);
}
