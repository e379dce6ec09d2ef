#include "stores/postgres/migrations.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

namespace horae::postgres {
namespace {

// Who migrates holds this lock: any number, as long as all versions of Horae use the same.
constexpr std::int64_t kMigrationLock = 0x686f726165;  // "horae"

int number_in(const Rows& rows) {
  int number = 0;
  if (rows.empty()) return number;
  const std::string_view digits = rows[0].view(0);
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

class Target final : public MigrationTarget {
 public:
  explicit Target(Connection& connection) : connection_(connection) {}

  // Each step takes its own lock: one of a session would be lost behind a pooler that gives each transaction another.
  Result<void> lock() override { return {}; }
  void unlock() override {}

  Result<int> version() override {
    const auto there = connection_.run_alone("SELECT 1 WHERE to_regclass('horae_version') IS NOT NULL");
    if (!there.ok()) return there.error();
    if (there->empty()) return 0;
    const auto version = connection_.run_alone("SELECT version FROM horae_version");
    if (!version.ok()) return version.error();
    return number_in(*version);
  }

  // Three trips in one transaction; after a failure run_alone() rolls it back.
  Result<void> apply(const Migration& migration) override {
    // The lock comes first and alone, so that what is read after it is what the peer before us has left.
    const auto locked = connection_.run_alone(
        fmt::format("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock({});"
                    "CREATE TABLE IF NOT EXISTS horae_version ("
                    " one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL)",
                    kMigrationLock));
    if (!locked.ok()) return locked.error();
    const auto found = connection_.run_alone("SELECT version FROM horae_version");
    if (!found.ok()) return found.error();
    const int version = number_in(*found);
    if (version >= migration.version) return finish("COMMIT");  // a peer did it
    if (version != migration.version - 1) {
      (void)finish("ROLLBACK");
      return Error{ErrorCode::kInternal,
                   fmt::format("PostgreSQL: the database is at version {}, not {}", version, migration.version - 1)};
    }
    return finish(
        fmt::format("{}\n;INSERT INTO horae_version (version) VALUES ({})"
                    " ON CONFLICT (one) DO UPDATE SET version = EXCLUDED.version; COMMIT",
                    migration.sql, migration.version));
  }

 private:
  Result<void> finish(const std::string& sql) {
    if (auto done = connection_.run_alone(sql); !done.ok()) return done.error();
    return {};
  }

  Connection& connection_;
};

}  // namespace

Result<MigrationReport> migrate_database(Connection& connection, bool dry_run) {
  Target target(connection);
  return migrate(target, postgres_migrations(), dry_run);
}

}  // namespace horae::postgres
