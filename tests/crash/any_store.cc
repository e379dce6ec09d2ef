#include "tests/crash/any_store.h"

#include "stores/postgres/postgres_store.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae::testing {

Result<std::unique_ptr<Store>> open_any_store(const std::string& url, const Clock& clock) {
  if (!url.starts_with(kPostgresScheme)) return open_sqlite_store(url, clock);
  return open_postgres_store(url, {.allow_unsafe = {"fsync", "full_page_writes", "synchronous_commit"}});
}

}  // namespace horae::testing
