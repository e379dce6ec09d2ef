#include "app/migrate.h"

#include <fmt/format.h>

#include <ostream>

#include "stores/sqlite/sqlite_store.h"

namespace horae {

Result<void> migrate_store(const std::string& url, bool dry_run, std::ostream& out) {
  const auto report = migrate_sqlite(url, dry_run);
  if (!report.ok()) return report.error();
  if (report->steps.empty()) {
    out << fmt::format("{} is up to date (version {}).\n", url, report->to);
    return {};
  }
  out << fmt::format("{}: version {} -> {}{}\n", url, report->from, report->to,
                     dry_run ? " (nothing was changed)" : "");
  for (const Migration& step : report->steps) {
    out << fmt::format("  {} {:04} {}\n", dry_run ? "would apply" : "applied", step.version, step.name);
  }
  return {};
}

}  // namespace horae
