#include "stores/postgres/migrations.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "stores/postgres/connection/statements.h"

namespace horae::postgres {
namespace {

const Sql kLock = statement("migration_lock");
const Sql kMakeVersion = statement("migration_make_version");
const Sql kHasVersion = statement("migration_has_version");
const Sql kVersion = statement("migration_version");
constexpr const char* kSetVersion =
    "insert into horae_version (version) values ({0}) on conflict (one) do update set version = {0}";

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

  // Each step takes its own lock: a session's lock would be lost behind a pooler that gives each transaction another
  // session.
  Result<void> lock() override { return {}; }
  void unlock() override {}

  Result<int> version() override {
    const auto there = connection_.run_alone(kHasVersion.text);
    if (!there.ok()) return there.error();
    if (there->empty()) return 0;
    const auto version = connection_.run_alone(kVersion.text);
    if (!version.ok()) return version.error();
    return number_in(*version);
  }

  // Three trips in one transaction; after a failure run_alone() rolls it back.
  Result<bool> apply(const Migration& migration) override {
    // The lock comes first and alone, so that the version is read as the node before this one has left it.
    const auto locked = connection_.run_alone(
        fmt::format("begin isolation level read committed read write; {}; {}", kLock.text, kMakeVersion.text));
    if (!locked.ok()) return locked.error();
    const auto found = connection_.run_alone(kVersion.text);
    if (!found.ok()) return found.error();
    const int version = number_in(*found);
    if (version >= migration.version) return finish("commit", false);  // another node has done it
    if (version != migration.version - 1) {
      (void)finish("rollback", false);
      return Error{ErrorCode::kInternal,
                   fmt::format("PostgreSQL: the database is at version {}, not {}", version, migration.version - 1)};
    }
    return finish(fmt::format("{}\n;{}; commit", migration.sql, fmt::format(kSetVersion, migration.version)), true);
  }

 private:
  Result<bool> finish(const std::string& sql, bool applies) {
    if (auto done = connection_.run_alone(sql); !done.ok()) return done.error();
    return applies;
  }

  Connection& connection_;
};

}  // namespace

Result<MigrationReport> migrate_database(Connection& connection, bool dry_run) {
  Target target(connection);
  return migrate(target, postgres_migrations(), dry_run);
}

}  // namespace horae::postgres
