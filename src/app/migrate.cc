#include "app/migrate.h"

#include <fmt/format.h>

#include <ostream>
#include <regex>

#include "stores/postgres/postgres_store.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae {
namespace {

// For people and their logs: the places where a URL of PostgreSQL may have a password are masked, and rather too much
// than too little.
std::string without_password(const std::string& url) {
  static const std::regex kUser("(://[^:/?@]*):.*@");
  static const std::regex kOption("([?&][a-z]*password=)[^&]*");
  return std::regex_replace(std::regex_replace(url, kUser, "$1:***@"), kOption, "$1***");
}

Result<MigrationReport> migrate_any(const std::string& url, bool dry_run) {
  if (url.starts_with(kSqliteScheme)) return migrate_sqlite(url, dry_run);
  if (url.starts_with(kPostgresScheme)) return migrate_postgres(url, dry_run);
  return Error{ErrorCode::kMalformed,
               fmt::format("store '{}': give sqlite:PATH or postgresql://USER@HOST/DATABASE", without_password(url))};
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
