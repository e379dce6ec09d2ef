#include "stores/sqlite/migrations.h"

#include <fmt/format.h>

namespace horae::sqlite {
namespace {

class Target final : public MigrationTarget {
 public:
  explicit Target(Database& database) : database_(database) {}

  // The lock file keeps other nodes away, and each step takes SQLite's write lock.
  Result<void> lock() override { return {}; }
  void unlock() override {}

  Result<int> version() override {
    Statement query(database_, "PRAGMA user_version");
    const int version = query.start().next() ? query.small(0) : 0;
    query.finish();
    if (auto read = database_.take_error(); !read.ok()) return read.error();
    return version;
  }

  Result<bool> apply(const Migration& migration) override {
    Transaction transaction(database_);
    database_.execute(std::string(migration.sql));
    database_.execute(fmt::format("PRAGMA user_version = {}", migration.version));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return true;
  }

 private:
  Database& database_;
};

}  // namespace

Result<MigrationReport> migrate_database(Database& database, bool dry_run) {
  Target target(database);
  return migrate(target, sqlite_migrations(), dry_run);
}

}  // namespace horae::sqlite
