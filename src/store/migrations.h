// Brings a database to the schema of this version of Horae: numbered SQL files, one runner for all stores.
//
// A released migration is never edited, because a database that has it does not run it again. Add the next number.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace horae {

// One SQL file, built in by horae_embed_migrations() (cmake/HoraeTargets.cmake). The texts live as long as the program.
struct Migration {
  int version = 0;        // 1 for 0001_tasks.sql
  std::string_view name;  // "tasks"
  std::string_view sql;

  friend bool operator==(const Migration&, const Migration&) = default;
};

// A database, as far as the runner needs it. One thread at a time.
class MigrationTarget {
 public:
  virtual ~MigrationTarget() = default;

  // Waits until no other node migrates this database; many nodes may start at once. The lock is released by unlock(),
  // and with the connection if the process dies.
  virtual Result<void> lock() = 0;
  virtual void unlock() = 0;

  // Of the newest migration that was applied; 0 for an empty database. Read-only.
  virtual Result<int> version() = 0;

  // Runs the SQL and sets version() to that of the migration, in one transaction: after a failure or a crash, neither
  // has happened. False if another node has applied it meanwhile: nothing was done. kUnavailable means that it is
  // unknown whether it was applied.
  virtual Result<bool> apply(const Migration& migration) = 0;
};

struct MigrationReport {
  int from = 0;                  // the version before the first step
  int to = 0;                    // the newest version of this program, which the database has now, or would have
  std::vector<Migration> steps;  // what this call applied, or would, in order; empty if the database is up to date
};

// Applies the migrations that the database lacks, in order. A database that lacks none is neither locked nor changed;
// with `dry_run` none is, and the report says what would be done. `migrations` are numbered from 1 without gaps.
//
// kRefused if the database is newer than this program; nothing was done. If a migration fails, its error says at which
// version the database is left: those before it stay applied, and the next run continues from there.
Result<MigrationReport> migrate(MigrationTarget& target, std::span<const Migration> migrations, bool dry_run = false);

}  // namespace horae
