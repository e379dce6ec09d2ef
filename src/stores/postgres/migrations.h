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

// Applies what is missing, or only tells with `dry_run`. Many nodes may do so at once.
Result<MigrationReport> migrate_database(Connection& connection, bool dry_run);

}  // namespace postgres
}  // namespace horae
