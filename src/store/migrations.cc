#include "store/migrations.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/version.h"

namespace horae {
namespace {

// Holds the lock of a target that has just been locked.
class Unlocker {
 public:
  explicit Unlocker(MigrationTarget& target) : target_(target) {}
  ~Unlocker() { target_.unlock(); }
  Unlocker(const Unlocker&) = delete;
  Unlocker& operator=(const Unlocker&) = delete;

 private:
  MigrationTarget& target_;
};

void check_numbers(std::span<const Migration> migrations) {
  int expected = 1;
  for (const Migration& migration : migrations) {
    HORAE_CHECK(migration.version == expected, "migrations are numbered from 1 without gaps");
    ++expected;
  }
}

// What the database lacks, by the version that it has at this moment.
Result<MigrationReport> plan(MigrationTarget& target, std::span<const Migration> migrations) {
  const Result<int> version = target.version();
  if (!version.ok()) return version.error();
  const int newest = static_cast<int>(migrations.size());
  if (*version < 0) {
    return Error{ErrorCode::kInternal,
                 fmt::format("database says that it is at version {}: it is damaged, or not one of Horae", *version)};
  }
  if (*version > newest) {
    return Error{
        ErrorCode::kRefused,
        fmt::format("database is at version {}, this horae {} knows versions up to {}: use a newer horae or, if an "
                    "unreleased commit made the database, a new database",
                    *version, horae::version(), newest)};
  }
  const auto missing = migrations.subspan(static_cast<std::size_t>(*version));
  return MigrationReport{.from = *version, .to = newest, .steps = {missing.begin(), missing.end()}};
}

// Reports what was applied here: another node may have applied the first of the missing ones.
Result<MigrationReport> apply_all(MigrationTarget& target, const MigrationReport& missing) {
  MigrationReport report{.from = missing.from, .to = missing.to, .steps = {}};
  for (const Migration& migration : missing.steps) {
    const Result<bool> applied = target.apply(migration);
    if (applied.ok()) {
      if (*applied) report.steps.push_back(migration);
      if (report.steps.empty()) report.from = migration.version;
      continue;
    }
    const bool unknown = applied.error().code == ErrorCode::kUnavailable;
    const std::string left = unknown ? "it is unknown whether it was applied, so run it again"
                                     : fmt::format("the database is left at version {}", migration.version - 1);
    return Error{applied.error().code, fmt::format("migration {:04} {} failed: {} ({})", migration.version,
                                                   migration.name, applied.error().message, left)};
  }
  return report;
}

}  // namespace

Result<MigrationReport> migrate(MigrationTarget& target, std::span<const Migration> migrations, bool dry_run) {
  check_numbers(migrations);
  Result<MigrationReport> first_look = plan(target, migrations);
  if (!first_look.ok() || dry_run || first_look->steps.empty()) return first_look;

  if (auto locked = target.lock(); !locked.ok()) return locked.error();
  const Unlocker unlocker(target);
  // Another node may have migrated while this one waited for the lock.
  Result<MigrationReport> missing = plan(target, migrations);
  if (!missing.ok()) return missing;
  return apply_all(target, *missing);
}

}  // namespace horae
