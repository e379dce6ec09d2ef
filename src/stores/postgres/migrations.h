// Brings a database to the newest schema.
#pragma once

#include <span>

#include "base/result.h"
#include "store/migrations.h"
#include "stores/postgres/connection/connection.h"

namespace horae {

// The SQL files in migrations/, built into the program.
std::span<const Migration> postgres_migrations();

namespace postgres {

// Applies the migrations that are missing; with `dry_run` only reports them. Safe on many nodes at once.
Result<MigrationReport> migrate_database(Connection& connection, bool dry_run);

}  // namespace postgres
}  // namespace horae
