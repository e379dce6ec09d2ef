// Brings a database to the newest schema.
#pragma once

#include <span>

#include "base/result.h"
#include "store/migrations.h"
#include "stores/sqlite/database.h"

namespace horae {

// The SQL files in migrations/, built into the program.
std::span<const Migration> sqlite_migrations();

namespace sqlite {

// Applies what is missing, or only reports it with `dry_run`. The version is SQLite's own user_version.
Result<MigrationReport> migrate_database(Database& database, bool dry_run);

}  // namespace sqlite
}  // namespace horae
