// The embedded store: one SQLite file, one node, no set-up.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "store/migrations.h"
#include "store/store.h"

namespace horae {

// "sqlite:PATH" or "sqlite::memory:". The folder of PATH must exist; the file is made if it does not.
inline constexpr std::string_view kSqliteScheme = "sqlite:";
inline constexpr std::string_view kSqliteMemory = "sqlite::memory:";

// Opens the store and brings its schema to the newest version. The store's clock is `clock`, which must outlive it. A
// lock file beside the database (PATH.lock) keeps a second node away (kConflict). Only the owner may read and write the
// files, old ones too. kRefused if the database was written by a newer Horae, if every user may write to its folder, or
// if it belongs to another user.
Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& url, const Clock& clock,
                                                 std::size_t max_queues = kMaxQueues);

// What the log of a node should say about the place of the store although it is accepted; nothing if all is well.
std::optional<std::string> sqlite_warning(const std::string& url);

// What open_sqlite_store() would do to the schema; done unless `dry_run`.
Result<MigrationReport> migrate_sqlite(const std::string& url, bool dry_run);

}  // namespace horae
