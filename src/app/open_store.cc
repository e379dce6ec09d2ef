#include "app/open_store.h"

#include <fmt/format.h>

#include <filesystem>
#include <regex>
#include <system_error>

#include "stores/sqlite/sqlite_store.h"

namespace horae {
namespace {

Result<void> make_folder(const std::string& url) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(url.substr(kSqliteScheme.size())).parent_path();
  if (url == kSqliteMemory || folder.empty()) return {};
  std::error_code failed;
  if (fs::exists(folder, failed)) return {};
  fs::create_directories(folder, failed);
  if (!failed) fs::permissions(folder, fs::perms::owner_all, failed);
  if (failed) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("cannot make the folder {} for the data: {}", folder.string(), failed.message())};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const std::string& url, const Clock& clock,
                                          const PostgresStoreOptions& postgres) {
  if (url.starts_with(kPostgresScheme)) return open_postgres_store(url, postgres);
  if (!url.starts_with(kSqliteScheme)) return unknown_store(url);
  if (auto made = make_folder(url); !made.ok()) return made.error();
  return open_sqlite_store(url, clock);
}

Error unknown_store(const std::string& url) {
  return {ErrorCode::kMalformed,
          fmt::format("store '{}': give sqlite:PATH or postgresql://USER@HOST/DATABASE", without_password(url))};
}

std::string without_password(const std::string& url) {
  static const std::regex kUser("(://[^:/?@]*):.*@");
  static const std::regex kOption("([?&][a-z]*password=)[^&]*");
  return std::regex_replace(std::regex_replace(url, kUser, "$1:***@"), kOption, "$1***");
}

}  // namespace horae
