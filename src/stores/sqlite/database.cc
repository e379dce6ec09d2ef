#include "stores/sqlite/database.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "stores/sqlite/statements.h"

namespace horae::sqlite {
namespace {

// How long a statement waits for a lock that another program holds (a backup, a shell) before it answers kUnavailable.
constexpr int kBusyTimeoutMs = 2'000;

// WAL: readers and the writer do not block each other. FULL: a commit is on the disk before it is reported. The WAL
// stays bounded: it is checkpointed after 1,000 pages, and cut back to 64 MiB if a long reader had let it grow.
constexpr const char* kWriterSettings =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=1000; PRAGMA "
    "journal_size_limit=67108864;"
    "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-4096;";

// What a person can do about it.
std::string_view advice(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program holds a lock on it; end that program or wait";
    case SQLITE_FULL:
      return "the disk is full; make room, nothing acknowledged is lost";
    case SQLITE_IOERR:
      return "the disk reports an error; nothing unacknowledged was kept";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "check that the folder exists and may be written by this user";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "the file is damaged or not a database of Horae; restore it from a backup";
    default:
      return "this is a bug of Horae";
  }
}

ErrorCode code_of(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_NOMEM:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

bool is_disk_full(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const auto space = fs::space(fs::absolute(path, unknown).parent_path(), unknown);
  return !unknown && space.available < kLeastFreeBytes;
}

namespace {

// A full disk shows as an I/O error where SQLite needs files beside the database.
Error error_of(const std::string& path, int code, const char* message) {
  const bool is_full = (code & 0xff) == SQLITE_IOERR && is_disk_full(path);
  return {code_of(code), fmt::format("SQLite database {}: {} (code {}): {}", path, message, code,
                                     advice(is_full ? SQLITE_FULL : code))};
}

// Of a statement of the .sql files; else the beginning of its text.
std::string name_of(std::string_view text) {
  constexpr std::size_t kShort = 60;
  const auto found = std::ranges::find(sqlite_statements(), text, &horae::Statement::text);
  return std::string(found == sqlite_statements().end() ? text.substr(0, kShort) : found->name);
}

bool is_failed_sync(int code) { return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC; }

}  // namespace

Result<std::unique_ptr<Database>> Database::open(const std::string& path, bool read_only) {
  sqlite3* handle = nullptr;
  const int flags =
      SQLITE_OPEN_NOMUTEX | (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  std::unique_ptr<Database> database(new Database(handle, path));
  if (code != SQLITE_OK) return error_of(path, code, handle == nullptr ? "out of memory" : sqlite3_errmsg(handle));

  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  if (!read_only) database->execute(kWriterSettings);
  if (auto opened = database->take_error(); !opened.ok()) return opened.error();
  return database;
}

void Database::execute(const std::string& sql) {
  if (failed()) return;
  const int code = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

Result<void> Database::take_error() {
  if (!error_) return {};
  Error error = std::move(*error_);
  error_.reset();
  return error;
}

void Database::fail(int code) {
  if (is_failed_sync(code)) broken_ = true;
  fail(error_of(path_, code, sqlite3_errmsg(handle())));
}

void Database::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

Statement::Statement(Database& database, std::string_view sql) : database_(database) {
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) database.fail(code);
}

bool Statement::next() {
  if (database_.failed()) {
    finish();
    return false;
  }
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.fail(code);
  finish();
  return false;
}

// After an error the number is that of an older statement, and the transaction fails anyway.
void Statement::expect_one(int changed) {
  if (changed == 1 || database_.failed()) return;
  const char* text = sqlite3_sql(handle_.get());
  database_.fail({ErrorCode::kInternal,
                  fmt::format("SQLite database {}: the statement {} changed {} rows and not 1, so nothing of its "
                              "transaction was kept: another program changes this database, or its file is damaged; "
                              "stop that program, or check the file with `pragma integrity_check`",
                              database_.path(), name_of(text == nullptr ? "" : text), changed)});
}

std::string Statement::text(int column) const {
  // The blob first: read as text, SQLite would convert it.
  const void* bytes = sqlite3_column_blob(handle_.get(), column);
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return bytes == nullptr ? std::string()
                          : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

Uuid Statement::uuid(int column) const {
  Uuid uuid;
  const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(handle_.get(), column));
  const int size = sqlite3_column_bytes(handle_.get(), column);
  HORAE_CHECK(size == static_cast<int>(uuid.bytes.size()), "a UUID in the database has 16 bytes");
  std::copy_n(bytes, uuid.bytes.size(), uuid.bytes.begin());
  return uuid;
}

std::optional<std::string> Statement::optional_text(int column) const {
  if (is_null(column)) return std::nullopt;
  return text(column);
}

std::optional<Instant> Statement::optional_instant(int column) const {
  if (is_null(column)) return std::nullopt;
  return instant(column);
}

std::optional<Duration> Statement::optional_duration(int column) const {
  if (is_null(column)) return std::nullopt;
  return duration(column);
}

void Statement::bind(std::nullptr_t) { sqlite3_bind_null(handle_.get(), ++place_); }

void Statement::bind(std::int64_t value) { sqlite3_bind_int64(handle_.get(), ++place_, value); }

void Statement::bind(double value) { sqlite3_bind_double(handle_.get(), ++place_, value); }

void Statement::bind(std::string_view text) {
  // Never a null pointer: SQLite would bind NULL instead of an empty text.
  const char* bytes = text.data() == nullptr ? "" : text.data();
  sqlite3_bind_text64(handle_.get(), ++place_, bytes, text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::bind(Blob blob) {
  const char* bytes = blob.bytes.data() == nullptr ? "" : blob.bytes.data();
  sqlite3_bind_blob64(handle_.get(), ++place_, bytes, blob.bytes.size(), SQLITE_STATIC);
}

void Statement::bind(const Uuid& uuid) {
  bind(Blob{{reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()}});
}

Transaction::Transaction(Database& database) : database_(database) { database_.execute("BEGIN IMMEDIATE"); }

Transaction::~Transaction() {
  if (open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Result<void> Transaction::commit() {
  database_.execute("COMMIT");
  // A failed COMMIT leaves the transaction open, unless SQLite has rolled it back already; then this does nothing.
  if (database_.failed()) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  open_ = false;
  return database_.take_error();
}

}  // namespace horae::sqlite
