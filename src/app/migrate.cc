#include "app/migrate.h"

#include <fmt/format.h>

#include <ostream>

#include "app/open_store.h"
#include "stores/postgres/postgres_store.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae {
namespace {

Result<MigrationReport> migrate_any(const std::string& url, bool dry_run) {
  if (url.starts_with(kSqliteScheme)) return migrate_sqlite(url, dry_run);
  if (url.starts_with(kPostgresScheme)) return migrate_postgres(url, dry_run);
  return unknown_store(url);
}

}  // namespace

Result<void> migrate_store(const std::string& url, bool dry_run, std::ostream& out) {
  const auto report = migrate_any(url, dry_run);
  if (!report.ok()) return report.error();
  const std::string store = without_password(url);
  if (report->steps.empty()) {
    out << fmt::format("{} is up to date (version {}).\n", store, report->to);
    return {};
  }
  out << fmt::format("{}: version {} -> {}{}\n", store, report->from, report->to,
                     dry_run ? " (nothing was changed)" : "");
  for (const Migration& step : report->steps) {
    out << fmt::format("  {} {:04} {}\n", dry_run ? "would apply" : "applied", step.version, step.name);
  }
  return {};
}

}  // namespace horae
