#include "stores/sqlite/sqlite_store.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "store/batches.h"
#include "stores/sqlite/claim.h"
#include "stores/sqlite/cluster.h"
#include "stores/sqlite/files/database_lock.h"
#include "stores/sqlite/files/private_files.h"
#include "stores/sqlite/messages.h"
#include "stores/sqlite/migrations.h"
#include "stores/sqlite/queues.h"
#include "stores/sqlite/reader.h"
#include "stores/sqlite/schedules/schedules.h"
#include "stores/sqlite/settle.h"
#include "stores/sqlite/submit.h"
#include "stores/sqlite/tokens.h"
#include "stores/sqlite/upkeep.h"

namespace horae {
namespace sqlite {
namespace {

class Tasks final : public TaskStore {
 public:
  Tasks(Writer& writer, std::shared_ptr<Connection> reader, const Clock& clock)
      : writer_(writer),
        lives_(writer),
        submitter_(writer),
        claimer_(writer),
        effects_(writer, lives_),
        settler_(lives_, effects_),
        upkeep_(writer, lives_, effects_),
        reader_(std::move(reader), clock) {}

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions) override {
    if (auto checked = check_batch(submissions, check_submission); !checked.ok()) return checked.error();
    return writer_.transact<std::vector<SubmitOutcome>>(
        [&](Change& change) { return submitter_.submit(submissions, change); });
  }
  Result<std::vector<ClaimOutcome>> claim(std::span<const ClaimWish> wishes) override {
    if (auto checked = check_batch(wishes, check_claim_wish); !checked.ok()) return checked.error();
    return writer_.transact<std::vector<ClaimOutcome>>([&](Change& change) { return claimer_.claim(wishes, change); });
  }
  Result<std::vector<LeasedTask>> leases_of(const Uuid& token) override { return reader_.leases_of(token); }
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens) override {
    if (auto checked = check_batch_size(tokens.size()); !checked.ok()) return checked.error();
    return reader_.have_served(tokens);
  }
  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements) override {
    if (auto checked = check_batch(settlements, check_settlement); !checked.ok()) return checked.error();
    return writer_.transact<std::vector<SettleOutcome>>(
        [&](Change& change) { return settler_.settle(settlements, change); });
  }
  Result<BundleOutcome> exchange(const Bundle& calls) override {
    if (auto checked = check_bundle(calls); !checked.ok()) return checked.error();
    return writer_.transact<BundleOutcome>([&](Change& change) {
      return BundleOutcome{settler_.settle(calls.settlements, change), submitter_.submit(calls.submissions, change),
                           claimer_.claim(calls.wishes, change)};
    });
  }
  Result<std::vector<CancelOutcome>> cancel(std::span<const CancelWish> wishes) override {
    if (auto checked = check_batch(wishes, check_cancel_wish); !checked.ok()) return checked.error();
    return writer_.transact<std::vector<CancelOutcome>>(
        [&](Change& change) { return settler_.cancel(wishes, change); });
  }
  Result<PromoteOutcome> promote_due(std::size_t max) override { return upkeep_.promote_due(max); }
  Result<Watch> look() override { return upkeep_.look(); }
  Result<bool> extend_leases(const std::optional<Instant>& seen) override { return upkeep_.extend_leases(seen); }
  Result<ExpireOutcome> expire_leases(const ExpireWish& wish) override { return upkeep_.expire_leases(wish); }
  Result<PurgeOutcome> purge(std::size_t max) override { return upkeep_.purge(max); }
  Result<std::vector<std::optional<Task>>> get(std::span<const TaskId> ids) override {
    const auto any = [](const TaskId&) { return Result<void>(); };
    if (auto checked = check_batch(ids, any); !checked.ok()) return checked.error();
    return reader_.get(ids);
  }
  Result<std::optional<Task>> find(std::string_view queue, std::string_view key) override {
    return reader_.find(queue, key);
  }
  Result<Page> list(const ListQuery& query) override { return reader_.list(query); }

 private:
  Writer& writer_;
  Lives lives_;
  Submitter submitter_;
  Claimer claimer_;
  Effects effects_;
  Settler settler_;
  Upkeep upkeep_;
  Reader reader_;
};

class SqliteStore final : public Store {
 public:
  SqliteStore(std::optional<DatabaseLock> lock, std::string path, std::shared_ptr<Connection> writer,
              const std::shared_ptr<Connection>& reader, const Clock& clock, std::size_t max_queues)
      : lock_(std::move(lock)),
        path_(std::move(path)),
        writer_(std::move(writer), clock, max_queues),
        tasks_(writer_, reader, clock),
        queues_(writer_),
        messages_(writer_),
        schedules_(writer_),
        tokens_(writer_),
        cluster_(writer_) {}

  TaskStore& tasks() override { return tasks_; }
  QueueStore& queues() override { return queues_; }
  MessageStore& messages() override { return messages_; }
  ScheduleStore& schedules() override { return schedules_; }
  TokenStore& tokens() override { return tokens_; }
  ClusterStore& cluster() override { return cluster_; }
  // A commit of one page may still find room where a task does not, so the disk is asked first.
  Result<void> probe_writes() override {
    if (is_disk_full(path_)) {
      return Error{ErrorCode::kUnavailable,
                   fmt::format("SQLite database {}: the disk is full; make room, nothing acknowledged is lost", path_)};
    }
    const auto skipped = queues_.new_worker_id();
    if (!skipped.ok()) return skipped.error();
    return {};
  }
  std::string description() const override { return fmt::format("sqlite {} at {}", sqlite3_libversion(), path_); }

 private:
  std::optional<DatabaseLock> lock_;  // first, so that it is released last
  std::string path_;
  Writer writer_;
  Tasks tasks_;
  Queues queues_;
  Messages messages_;
  Schedules schedules_;
  Tokens tokens_;
  Cluster cluster_;
};

Result<std::shared_ptr<Connection>> connect(const std::string& path, bool read_only) {
  auto database = Database::open(path, read_only);
  if (!database.ok()) return database.error();
  auto connection = std::make_shared<Connection>();
  connection->database = std::move(*database);
  return connection;
}

Result<std::string> path_of(const std::string& url) {
  if (url.starts_with(kSqliteScheme) && url.size() > kSqliteScheme.size()) return url.substr(kSqliteScheme.size());
  return Error{ErrorCode::kMalformed, fmt::format("store '{}': give sqlite:PATH or sqlite::memory:", url)};
}

Result<std::optional<DatabaseLock>> take_lock(const std::string& url, const std::string& path) {
  if (url == kSqliteMemory) return std::optional<DatabaseLock>();
  if (auto checked = check_place(path); !checked.ok()) return checked.error();
  auto lock = DatabaseLock::take(path);
  if (!lock.ok()) return lock.error();
  return std::optional<DatabaseLock>(std::move(*lock));
}

// The connection that writes. The files are made private after the database was opened, so that a file which is no
// database is left as it is; what is new is private from the beginning.
Result<std::shared_ptr<Connection>> connect_writer(const std::string& url, const std::string& path) {
  if (url == kSqliteMemory) return connect(path, false);
  if (auto created = create_private(path); !created.ok()) return created.error();
  auto connection = connect(path, false);
  if (!connection.ok()) return connection;
  if (auto made = make_private(path); !made.ok()) return made.error();
  return connection;
}

}  // namespace
}  // namespace sqlite

std::optional<std::string> sqlite_warning(const std::string& url) {
  const auto path = sqlite::path_of(url);
  return path.ok() && url != kSqliteMemory ? sqlite::folder_warning(*path) : std::nullopt;
}

Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& url, const Clock& clock, std::size_t max_queues) {
  const auto path = sqlite::path_of(url);
  if (!path.ok()) return path.error();
  auto lock = sqlite::take_lock(url, *path);
  if (!lock.ok()) return lock.error();
  auto writer = sqlite::connect_writer(url, *path);
  if (!writer.ok()) return writer.error();
  if (auto migrated = sqlite::migrate_database(*(*writer)->database, false); !migrated.ok()) return migrated.error();
  auto reader = url == kSqliteMemory ? writer : sqlite::connect(*path, true);
  if (!reader.ok()) return reader.error();

  const auto opened_writer = *writer;
  const auto opened_reader = *reader;
  std::unique_ptr<Store> store =
      std::make_unique<sqlite::SqliteStore>(std::move(*lock), *path, opened_writer, opened_reader, clock, max_queues);
  // Preparing the statements may have failed.
  for (const auto& connection : {opened_writer, opened_reader}) {
    if (auto prepared = connection->database->take_error(); !prepared.ok()) return prepared.error();
  }
  return store;
}

Result<MigrationReport> migrate_sqlite(const std::string& url, bool dry_run) {
  const auto path = sqlite::path_of(url);
  if (!path.ok()) return path.error();
  const auto lock = sqlite::take_lock(url, *path);
  if (!lock.ok()) return lock.error();
  const auto connection = sqlite::connect_writer(url, *path);
  if (!connection.ok()) return connection.error();
  return sqlite::migrate_database(*(*connection)->database, dry_run);
}

}  // namespace horae
