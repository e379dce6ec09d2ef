// SQLite's C handles, wrapped once.
//
// Errors are sticky: the first one of a transaction is kept, everything after it does nothing and answers empty, and
// commit() or finish() reports it. So the statements of a transaction read as a story, without a check after each line.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "base/uuid.h"

namespace horae::sqlite {

// With less than this, a disk counts as full: SQLite needs some room beside the data, and a task may have a megabyte.
inline constexpr std::uintmax_t kLeastFreeBytes = 1 << 20;

// Whether the disk of a database is full; false if its folder cannot be examined.
bool is_disk_full(const std::string& path);

// One connection.
//
// Not thread-safe: one thread at a time.
class Database {
 public:
  // Opens or creates the file ("" and ":memory:" are SQLite's own), in WAL mode with synchronous=FULL. With
  // `read_only`, nothing can be written through this connection.
  static Result<std::unique_ptr<Database>> open(const std::string& path, bool read_only);

  // Runs statements that answer nothing, such as a migration.
  void execute(const std::string& sql);

  // True once something has failed since the last take_error().
  bool failed() const { return error_.has_value(); }

  // The error so far, and a clean slate.
  Result<void> take_error();

  // True after a failed fsync: what the kernel then reports of later ones cannot be trusted. Never reset.
  bool broken() const { return broken_; }

  sqlite3* handle() { return handle_.get(); }
  const std::string& path() const { return path_; }

  // Keeps the error that SQLite has just reported, or one of ours, if it is the first.
  void fail(int code);
  void fail(Error error);

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };

  Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  std::unique_ptr<sqlite3, Close> handle_;
  std::string path_;
  std::optional<Error> error_;
  bool broken_ = false;
};

// A connection that several use in turn, each for a whole transaction. In a file the writer and the readers have one
// each; a database in memory has only one.
struct Connection {
  std::mutex mutex;
  std::unique_ptr<Database> database;  // guarded by mutex
};

// Bytes to be bound as a blob; text is bound as text.
struct Blob {
  std::string_view bytes;
};

// A prepared statement, used again and again: run(...) or run_any(...) for one that changes rows, start(...) and next()
// for one that answers them.
//
// Parameters are bound in order. Text and blobs are not copied: they live until the statement is done.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);

  template <typename... Values>
  Statement& start(const Values&... values) {
    sqlite3_reset(handle_.get());
    place_ = 0;
    (bind(values), ...);
    return *this;
  }

  // Steps to the next row; false when there is none, or after an error.
  bool next();

  // Runs to the end. It must change exactly one row: else the transaction fails, and nothing of it is reported as done.
  template <typename... Values>
  void run(const Values&... values) {
    expect_one(run_any(values...));
  }

  // Runs to the end and returns how many rows were changed, for a statement that may change any number.
  template <typename... Values>
  int run_any(const Values&... values) {
    start(values...);
    while (next()) {
    }
    return sqlite3_changes(database_.handle());
  }

  // The same for a statement whose rows were counted by the caller, because it also answers them (RETURNING).
  void expect_one(int changed);

  // Frees locks and what was bound. next() does so at the end of the rows; call it when leaving earlier.
  void finish() { sqlite3_reset(handle_.get()); }

  // Columns of the present row, counted from 0.
  bool is_null(int column) const { return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL; }
  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  int small(int column) const { return sqlite3_column_int(handle_.get(), column); }
  double real(int column) const { return sqlite3_column_double(handle_.get(), column); }
  std::string text(int column) const;  // of text and blobs
  Uuid uuid(int column) const;
  Instant instant(int column) const { return Instant(std::chrono::microseconds(integer(column))); }
  Duration duration(int column) const { return Duration(integer(column)); }

  std::optional<std::string> optional_text(int column) const;
  std::optional<Instant> optional_instant(int column) const;
  std::optional<Duration> optional_duration(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };

  void bind(std::nullptr_t);
  void bind(std::int64_t value);
  void bind(int value) { bind(std::int64_t{value}); }
  void bind(bool value) { bind(std::int64_t{value}); }
  void bind(std::size_t value) { bind(static_cast<std::int64_t>(value)); }
  void bind(double value);
  void bind(std::string_view text);
  void bind(const std::string& text) { bind(std::string_view(text)); }
  void bind(const char* text) { bind(std::string_view(text)); }
  void bind(Blob blob);
  void bind(const Uuid& uuid);
  void bind(Instant instant) { bind(std::int64_t{instant.time_since_epoch().count()}); }
  void bind(Duration duration) { bind(std::int64_t{duration.count()}); }
  template <typename T>
  void bind(const std::optional<T>& value) {
    if (value) {
      bind(*value);
    } else {
      bind(nullptr);
    }
  }
  // Enumerations are stored as their numbers.
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void bind(Enum value) { bind(static_cast<std::int64_t>(value)); }

  Database& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int place_ = 0;
};

// A write transaction: takes the write lock at once, so that it never has to be upgraded, and rolls back unless
// committed.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // Makes all of it durable, or reports the first error of the transaction after rolling back.
  Result<void> commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace horae::sqlite
