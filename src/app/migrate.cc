#include "app/migrate.h"

#include <fmt/format.h>

#include <ostream>

#include "app/open_store.h"
#include "base/json_text.h"
#include "stores/postgres/postgres_store.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae {
namespace {

Result<MigrationReport> migrate_any(const std::string& url, bool dry_run) {
  if (url.starts_with(kSqliteScheme)) return migrate_sqlite(url, dry_run);
  if (url.starts_with(kPostgresScheme)) return migrate_postgres(url, dry_run);
  return unknown_store(url);
}

void print_text(const std::string& store, const MigrationReport& report, bool dry_run, std::ostream& out) {
  if (report.steps.empty()) {
    out << fmt::format("{} is up to date (version {}).\n", store, report.to);
    return;
  }
  out << fmt::format("{}: version {} -> {}{}\n", store, report.from, report.to,
                     dry_run ? " (nothing was changed)" : "");
  for (const Migration& step : report.steps) {
    out << fmt::format("  {} {:04} {}\n", dry_run ? "would apply" : "applied", step.version, step.name);
  }
}

void print_json(const std::string& store, const MigrationReport& report, bool dry_run, std::ostream& out) {
  std::string json = R"({"store":)";
  append_json_string(json, store);
  json += fmt::format(R"(,"from":{},"to":{},"changed":{},"steps":[)", report.from, report.to,
                      !dry_run && !report.steps.empty());
  for (const Migration& step : report.steps) {
    if (!json.ends_with('[')) json += ",";
    json += fmt::format(R"({{"version":{},"name":)", step.version);
    append_json_string(json, step.name);
    json += "}";
  }
  out << json << "]}\n";
}

}  // namespace

Result<void> migrate_store(const std::string& url, const MigrateOptions& options, std::ostream& out) {
  const auto report = migrate_any(url, options.dry_run);
  if (!report.ok()) return report.error();
  const auto print = options.json ? print_json : print_text;
  print(without_password(url), *report, options.dry_run, out);
  return {};
}

}  // namespace horae
