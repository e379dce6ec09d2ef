// The store for clusters: PostgreSQL.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "store/migrations.h"
#include "store/store.h"

namespace horae {

inline constexpr std::string_view kPostgresScheme = "postgresql://";

struct PostgresStoreOptions {
  std::size_t connections = 8;

  // Settings of the server that lose acknowledged work when they are off: fsync, full_page_writes, synchronous_commit.
  // One that is off is refused unless it is named here: when the store is opened, and with each later connection, which
  // may lead to another server. Calls that meet such a server fail with kUnavailable.
  std::vector<std::string> allow_unsafe;

  // Finished tasks go with their whole day, which costs nothing. What a day that cannot go yet (something in it lives)
  // leaves behind is removed one by one, this much later than its retention says.
  Duration purge_delay = std::chrono::hours(24);

  std::size_t max_queues = kMaxQueues;  // a submit that would make one more is refused

  // How long a call waits for the next bytes of an answer before it takes the server for gone and continues on another
  // connection. Maintenance waits for half a minute, or this if it is longer.
  Duration answer_timeout = std::chrono::seconds(10);

  // For tests, which hold transactions open with it: called when a change has done all but COMMIT; false rolls back.
  std::function<bool()> before_commit = {};
};

// Opens the store (a URL as libpq reads it, with its TLS options) and brings its schema to the newest version; many
// nodes may do so at once. The store's clock is the server's. kRefused if the server is not durable, its encoding is
// not UTF8, or the database was written by a newer Horae; kUnavailable if it cannot be reached.
Result<std::unique_ptr<Store>> open_postgres_store(const std::string& url, const PostgresStoreOptions& options = {});

// What open_postgres_store() would do to the schema; done unless `dry_run`.
Result<MigrationReport> migrate_postgres(const std::string& url, bool dry_run);

}  // namespace horae
